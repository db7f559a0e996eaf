import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { connect, type Holdfast } from '../../clients/typescript';
import { Feature } from '../../generated/typescript/holdfast/v1/server_service';
import { tokenDigest } from '../../src/access/credentials';
import { HoldfastError } from '../../src/base/errors';
import { Harness } from '../contract/harness';
import { writePolicy } from '../contract/policy-harness';
import { InProcessServer } from '../end-to-end/in-process-server';
import { ServerPair, untilWaiterCount } from '../end-to-end/server-pair';
import { CommandRun, type FakeTerminal, type ProgramResult, runProgram } from '../support/cli/run-program';
import type { SemaphoreClient } from '../support/clients/lease-client';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';

describe('revoke over names', () => {
  /** `list` and `revoke` by label and proven identity, on a server with two teams and an operator. */

  const CALLERS = ['billing', 'search', 'ops'] as const;

  let redis: RedisProcess;
  let server: InProcessServer;
  let billing: Holdfast;
  /** The team billing, with a label that looks like the operator. */
  let impostor: Holdfast;
  let search: Holdfast;

  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
    const folder = scratchFolder();
    const [tokens, policy] = [join(folder, 'tokens'), join(folder, 'policy')];
    writeFileSync(
      tokens,
      CALLERS.map((name) => `${name} sha256:${tokenDigest(`secret-of-${name}`)}\n`).join(''),
    );
    const services = ['LockService', 'SemaphoreService'] as const;
    writePolicy(policy, [
      { identities: ['token:*'], services, names: [''], allow: ['read', 'use', 'limit'] },
      { identities: ['token:ops'], services, names: [''], allow: ['revoke'] },
      { identities: ['token:ops'], services, names: ['closed/'], allow: ['read'] },
    ]);
    server = await InProcessServer.start(redis.url, {
      HOLDFAST_AUTH_TOKENS: tokens,
      HOLDFAST_POLICY: policy,
    });
    const as = (name: string, holderId: string) =>
      connect(server.address, { token: `secret-of-${name}`, holderId });
    [billing, impostor, search] = await Promise.all([
      as('billing', 'worker'),
      as('billing', 'token:ops'),
      as('search', 'worker'),
    ]);
  });

  afterAll(() =>
    closeAll(
      () => billing?.close(),
      () => impostor?.close(),
      () => search?.close(),
      () => server.closeDespiteWarnings(),
      () => redis.close(),
    ),
  );

  function holdfast(args: string, fake: FakeTerminal = {}): Promise<ProgramResult> {
    const env = { HOLDFAST_ADDRESS: server.address, HOLDFAST_TOKEN: 'secret-of-ops', NO_COLOR: '1' };
    return runProgram(args.split(' '), { ...fake, env });
  }

  const rows = (text: string): string[] => text.trimEnd().split('\n').slice(1).sort();
  const plain = (text: string): string => text.replaceAll(/\b\d{16}\b/g, 'T').replaceAll(/ {2,}/g, ' | ');

  async function names(args: string): Promise<string[]> {
    const { out } = await holdfast(`${args} -o jsonl`);
    const lines = out.split('\n').filter((line) => line !== '');
    return lines.map((line) => (JSON.parse(line) as { name: string }).name).sort();
  }

  describe('list', () => {
    test('shows the proven identity beside the label that a client chose', async () => {
      const leases = [await impostor.lock('show/a'), await search.lock('show/b')];
      const { out } = await holdfast('lock list show/');
      expect(out.split('\n')[0]).toMatch(/HOLDER +IDENTITY$/);
      expect(rows(plain(out))).toEqual([
        'show/a | 1 | 0 | T | token:ops | token:billing',
        'show/b | 1 | 0 | T | worker | token:search',
      ]);
      await Promise.all(leases.map((lease) => lease.release()));
    });

    test('finds the names of an identity, and of a label and an identity', async () => {
      const leases = [
        await billing.lock('find/1'),
        await impostor.lock('find/2'),
        await search.lock('find/3'),
      ];
      expect(await names('lock list find/ --identity token:billing')).toEqual(['find/1', 'find/2']);
      expect(await names('lock list find/ --identity token:billing --holder worker')).toEqual(['find/1']);
      expect(await names('lock list find/ --identity token:bill')).toEqual([]);
      const permits = await search.permits('find/s', { limit: 2 });
      expect(await names('semaphore list find/ --identity token:search')).toEqual(['find/s']);
      expect(await names('semaphore list find/ --identity token:billing')).toEqual([]);
      await Promise.all([...leases, permits].map((lease) => lease.release()));
    });
  });

  describe('revoke over names', () => {
    test('shows with --dry-run, and ends with --yes, the leases of an identity, and none of another', async () => {
      const [mine, other] = [await billing.lock('over/a'), await search.lock('over/b')];
      const second = await billing.lock('over/c');
      const tokens = [mine.fencingToken, second.fencingToken];
      const revoke = 'lock revoke --identity token:billing --prefix over/';
      const shown = await holdfast(`${revoke} --dry-run`);
      expect(shown).toMatchObject({ code: 0, err: '' });
      expect(rows(shown.out.replaceAll(/ {2,}/g, ' '))).toEqual([
        `over/a ${tokens[0]} worker token:billing`,
        `over/c ${tokens[1]} worker token:billing`,
      ]);
      expect(mine.isValid).toBe(true);
      const { code, err, out } = await holdfast(`${revoke} --yes --force --reason stolen`);
      expect([code, out]).toEqual([0, shown.out]);
      expect(err.trimEnd().split('\n').sort()).toEqual([
        `lock "over/a", token ${tokens[0]}: revoked, free now`,
        `lock "over/c", token ${tokens[1]}: revoked, free now`,
        'revoked: 2 of 2',
      ]);
      await eventually('both leases are lost', () => !mine.isValid && !second.isValid);
      expect(other.isValid).toBe(true);
      await other.release();
      expect(await holdfast(`${revoke} --yes`)).toMatchObject({
        out: '',
        err: 'nothing to revoke: no lock shows such a holder or waiter\n',
        code: 1,
      });
    });

    test('ends the waits before the leases, so that no lease of the holder follows', async () => {
      const { fencingToken: token } = await billing.lock('queue/a');
      const wait = billing.lock('queue/a', { wait: '60s' }).then(
        () => 'granted',
        (error: Error) => error.message,
      );
      await eventually(
        'a waiter',
        async () =>
          (await names('lock list queue/ --contended')).length === 1 &&
          (await holdfast('lock get queue/a -o json')).out.includes('"waiterCount": 1'),
      );
      const { code, err } = await holdfast('lock revoke --holder worker --prefix queue/ --yes --force');
      expect(err).toBe(
        `lock "queue/a", the wait at place 1: revoked\nlock "queue/a", token ${token}: revoked, free now\nrevoked: 2 of 2\n`,
      );
      expect(code).toBe(0);
      expect(await wait).toContain('revoked');
      expect(await names('lock list queue/')).toEqual([]);
    });

    test('ends permits of semaphores, and not again the leases that were revoked before', async () => {
      const permits = await search.permits('sem/a', { limit: 3, permits: 2, ttl: '100s' });
      const revoke = 'semaphore revoke --identity token:search --prefix sem/ --yes';
      expect(await holdfast(revoke)).toMatchObject({ code: 0 });
      const again = await holdfast(revoke);
      expect(again).toMatchObject({ out: '', code: 1 });
      expect(again.err).toMatch(
        /^nothing more to revoke: 1 lease was revoked before and ends by \d\d:\d\d:\d\d\n$/,
      );
      expect(await holdfast(`${revoke} --force`)).toMatchObject({ code: 0 });
      await eventually('the loss', () => !permits.isValid);
    });

    test('counts beside the leases that it ends those that were revoked before', async () => {
      const leases = [
        await billing.lock('again/a', { ttl: '100s' }),
        await billing.lock('again/b', { ttl: '100s' }),
      ];
      const revoke = 'lock revoke --identity token:billing --prefix again/';
      expect(await holdfast(`${revoke} --yes`)).toMatchObject({ code: 0 });
      const third = await billing.lock('again/c');
      const before = /^holdfast: 2 leases were revoked before, and the last one ends by [\d:]{8}$/m;
      const shown = await holdfast(`${revoke} --dry-run`);
      expect(rows(shown.out)).toHaveLength(1);
      expect(shown.err).toMatch(before);
      const { code, err } = await holdfast(`${revoke} --yes`);
      expect(err).toMatch(before);
      expect([code, err.trimEnd().split('\n').at(-1)]).toEqual([0, 'revoked: 1 of 1']);
      await Promise.all([...leases, third].map((lease) => lease.release()));
    });

    test('goes on after a refused name, and ends with 1', async () => {
      const leases = [await billing.lock('closed/a'), await billing.lock('open/a')];
      const [closed, open] = leases.map(({ fencingToken }) => fencingToken);
      const { code, err } = await holdfast('lock revoke --identity token:billing --yes --force');
      expect(err).toContain(`lock "closed/a", token ${closed}: not revoked: token:ops does not have`);
      expect(err).toContain(`lock "open/a", token ${open}: revoked, free now`);
      expect(err.endsWith('revoked: 1 of 2; 1 failed\n')).toBe(true);
      expect(code).toBe(1);
      await leases[0]!.release();
    });

    test('asks on a terminal, and revokes nothing without a yes', async () => {
      const lease = await billing.lock('ask/a');
      const ask = (input: string) =>
        holdfast('lock revoke --identity token:billing --prefix ask/ --force', {
          ...{ columns: 80, inputIsTerminal: true, input },
        });
      for (const input of ['n\n', '\n', '']) {
        const { err, code } = await ask(input);
        expect(err).toContain('Revoke 1 lease and 0 waits? [y/N]');
        expect(err).toContain('nothing was revoked');
        expect(code).toBe(1);
      }
      expect(lease.isValid).toBe(true);
      expect(await ask('y\n')).toMatchObject({
        code: 0,
        err: expect.stringContaining('revoked: 1 of 1') as string,
      });
      await eventually('the loss', () => !lease.isValid);
    });

    test.each([
      ['--identity token:a', 'there is no terminal to ask; give --yes, or --dry-run'],
      ['--identity= --yes', '--holder and --identity must not be empty'],
      ['--prefix a --yes', 'give a name, or --holder or --identity'],
      ['--holder a --all --yes', '--token, --all and --waiter need a name'],
      ['name --holder a --all', 'with a name, --holder'],
      ['name --all --dry-run', 'with a name, --holder'],
    ])('refuses %s as wrong usage', async (args, message) => {
      const result = await holdfast(`lock revoke ${args}`);
      expect(result).toMatchObject({ out: '', code: 64 });
      expect(result.err).toContain(message);
    });
  });
});

describe('semaphore pause and resume, at two servers', () => {
  let pair: ServerPair;
  let client: SemaphoreClient;
  const open: CommandRun[] = [];

  beforeAll(async () => {
    pair = await ServerPair.start();
    client = pair.first.semaphores();
  });
  afterEach(() => closeAll(...open.splice(0).map((cli) => () => cli.close())));
  afterAll(() => pair?.close());

  function start(address: string, ...args: string[]): CommandRun {
    const cli = new CommandRun(args, { HOLDFAST_ADDRESS: address });
    open.push(cli);
    return cli;
  }

  async function done(address: string, ...args: string[]): Promise<string> {
    const { code, out, err } = await runProgram(args, { env: { HOLDFAST_ADDRESS: address } });
    expect([code, err]).toEqual([0, '']);
    return out;
  }

  test('the holder works on, runs wait, and start in their order after the resume', async () => {
    const [one, other] = [pair.first.address, pair.second.address];
    const name = 'gpu';
    const [log, end] = [join(scratchFolder(), 'log'), join(scratchFolder(), 'end')];
    writeFileSync(log, '');
    const logged = () => readFileSync(log, 'utf8').trim().split('\n').filter(Boolean);
    const run = (address: string, word: string, script: string, ...flags: string[]) =>
      start(address, 'semaphore', 'run', name, ...flags, '--', 'sh', '-c', script, 'sh', word, log, end);
    await done(one, 'semaphore', 'set-limit', name, '1');
    // A ttl that is short against the test: without renewals the lease would be lost, and the command killed.
    const untilEnd = 'echo $1 >> $2; while [ ! -e $3 ]; do sleep 0.1; done';
    const holder = run(one, 'holder', untilEnd, '--ttl', '3s');
    await eventually('the holder', () => logged().length === 1, { timeoutMs: 60_000 });
    expect(await done(one, 'semaphore', 'pause', name)).toContain('held by 1, paused\n');
    const endOf = async () => (await client.get(name)).holders[0]?.expireTime;
    const firstEnd = await endOf();
    const waiting = [];
    for (const [place, address] of [other, one, other].entries()) {
      waiting.push(run(address, `run ${place}`, 'echo $1 >> $2'));
      await untilWaiterCount(client, name, place + 1);
    }
    await eventually('a renewal', async () => !isDeepStrictEqual(await endOf(), firstEnd));
    writeFileSync(end, '');
    expect(await holder.ended()).toEqual({ code: 0 });
    expect(await client.get(name)).toMatchObject({ keptLimit: 1, usedCount: 0, waiterCount: 3 });
    expect(logged()).toEqual(['holder']);
    await done(other, 'semaphore', 'resume', name);
    for (const cli of waiting) expect(await cli.ended()).toEqual({ code: 0 });
    expect(logged()).toEqual(['holder', 'run 0', 'run 1', 'run 2']);
    expect(await client.get(name)).toMatchObject({ limit: 1, keptLimit: 0, usedCount: 0 });
  });
});

/** A server without pauses ignores `paused`, so it misses the limit. */
describe('at an older server', () => {
  let harness: Harness;

  beforeAll(async () => {
    const features = [Feature.FEATURE_SEMAPHORES, Feature.FEATURE_SESSIONS];
    harness = await Harness.start({ features });
    const violations = [{ field: 'limit', description: 'is required' }];
    harness.permits.answers.setLimit = (_name, { limit }) =>
      typeof limit === 'number'
        ? Promise.reject(new Error('a limit was set'))
        : Promise.reject(new HoldfastError('INVALID_FIELD', 'limit is required', { violations }));
  });
  afterAll(() => harness.close());

  const refused = {
    out: '',
    err: 'this server cannot pause and resume semaphores, because its version is too old: use "semaphore set-limit"\n',
    code: 1,
  };

  test.each(['pause', 'resume'])('semaphore %s changes no limit, and says so', async (word) => {
    expect(await runProgram(['semaphore', word, 'gpu', '-a', harness.target])).toEqual(refused);
  });

  test('an import sets no limit of a paused semaphore, which would then not be paused', async () => {
    const file = join(scratchFolder(), 'export.jsonl');
    const lines = [
      { holdfastExport: { version: 1 } },
      { semaphore: { name: 'gpu', limit: 0, keptLimit: 8 } },
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const sha256 = createHash('sha256').update(text).digest('hex');
    const end = { semaphoreCount: 1, dictionaryCount: 0, entryCount: 0, sha256 };
    writeFileSync(file, `${text}${JSON.stringify({ end })}\n`);
    expect(await runProgram(['import', file, '-a', harness.target])).toEqual(refused);
  });
});
