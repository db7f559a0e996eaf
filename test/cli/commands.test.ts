import { connect, type Holdfast } from '../../clients/typescript';
import { runProgram, type FakeTerminal, type ProgramResult } from '../support/cli/run-program';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from '../end-to-end/in-process-server';

/** The commands in this process, with a real server and Redis. */

let redis: RedisProcess;
let server: InProcessServer;
let hf: Holdfast;

beforeAll(async () => {
  redis = await RedisProcess.start({ inMemory: true });
  server = await InProcessServer.start(redis.url);
  hf = await connect(server.address, { holderId: 'holder' });
});

afterAll(() =>
  closeAll(
    () => hf.close(),
    () => server.close(),
    () => redis.close(),
  ),
);

function holdfast(args: string, fake: FakeTerminal = {}): Promise<ProgramResult> {
  return runProgram(args.split(' '), { ...fake, env: { HOLDFAST_ADDRESS: server.address, ...fake.env } });
}

/** Replaces tokens and times, whose lengths are fixed. */
function plain(text: string): string {
  return text.replaceAll(/\b\d{16}\b/g, 'TOKEN-OF-16-CHAR').replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');
}

function parsed(text: string): unknown {
  return JSON.parse(text);
}

describe('get', () => {
  test('shows a lock as JSON, on one line with jsonl', async () => {
    const lease = await hf.lock('get/a', { metadata: { job: '17' } });
    const json = await holdfast('lock get get/a -o json');
    expect(parsed(json.out)).toMatchObject({
      name: 'get/a',
      holderCount: 1,
      holders: [{ holderId: 'holder', fencingToken: String(lease.fencingToken), metadata: { job: '17' } }],
    });
    expect(json.out).toMatch(/"acquireTime": "\d{4}-\d\d-\d\dT[\d:.]+Z"/);
    const line = await holdfast('lock get get/a -o jsonl');
    expect(line.out.trimEnd().split('\n')).toHaveLength(1);
    expect(parsed(line.out)).toMatchObject({ name: 'get/a' });
    await lease.release();
  });

  test('shows a name that nobody has used as free', async () => {
    expect(await holdfast('lock get get/unused')).toEqual({
      out: 'lock     get/unused\nstate    free\nwaiters  0\n',
      err: '',
      code: 0,
    });
  });

  test('shows no colour and no bold without a terminal, and with NO_COLOR', async () => {
    const lease = await hf.lock('get/colour');
    const [pipe, terminal, plainTerminal] = await Promise.all([
      holdfast('lock get get/colour'),
      holdfast('lock get get/colour', { columns: 80 }),
      holdfast('lock get get/colour', { columns: 80, env: { NO_COLOR: '1' } }),
    ]);
    expect(pipe.out).not.toContain('\u001b');
    expect(plainTerminal.out).not.toContain('\u001b');
    expect(terminal.out).toContain('\u001b[1mHOLDER');
    await lease.release();
  });

  test('tells that a semaphore does not exist, with 1', async () => {
    const { out, err, code } = await holdfast('semaphore get get/none');
    expect([out, code]).toEqual(['', 1]);
    expect(err).toContain('get/none');
  });
});

describe('list', () => {
  test('lists names with a prefix as table, JSON and lines of JSON', async () => {
    const leases = await Promise.all(['list/a', 'list/b'].map((name) => hf.lock(name)));
    const sorted = (text: string) => text.trimEnd().split('\n').slice(1).sort();
    const table = await holdfast('lock list list/', { columns: 80, env: { NO_COLOR: '1' } });
    expect(plain(table.out).split('\n')[0]).toBe('NAME    HOLDERS  WAITERS             TOKEN  HOLDER');
    expect(sorted(plain(table.out))).toEqual([
      'list/a        1        0  TOKEN-OF-16-CHAR  holder',
      'list/b        1        0  TOKEN-OF-16-CHAR  holder',
    ]);
    const json = parsed((await holdfast('lock list list/ -o json')).out) as { name: string }[];
    expect(json.map(({ name }) => name).sort()).toEqual(['list/a', 'list/b']);
    const lines = (await holdfast('lock list list/ -o jsonl')).out.trimEnd().split('\n');
    expect(lines.map((line) => (parsed(line) as { name: string }).name).sort()).toEqual(['list/a', 'list/b']);
    await Promise.all(leases.map((lease) => lease.release()));
  });

  test('prints an empty array, or nothing, if no name fits', async () => {
    expect((await holdfast('lock list nothing/ -o json')).out).toBe('[]\n');
    expect((await holdfast('lock list nothing/ -o jsonl')).out).toBe('');
    expect((await holdfast('lock list nothing/')).out).toBe('');
  });

  test('finds the names of one holder', async () => {
    const lease = await hf.lock('list/of-holder');
    const of = async (label: string) => (await holdfast(`lock list list/of --holder ${label} -o jsonl`)).out;
    expect(await of('holder')).toContain('list/of-holder');
    expect(await of('nobody')).toBe('');
    await lease.release();
  });
});

describe('watch', () => {
  test.each([
    ['jsonl', (text: string) => text.includes('"holderCount":1')],
    ['table', (text: string) => text.includes('holder  token')],
  ])('shows the state and each change as %s, until Ctrl-C', async (format, showsHolder) => {
    const name = `watch/${format}`;
    const ctrlC = new AbortController();
    let shown = '';
    const watching = holdfast(`lock watch ${name} -o ${format}`, {
      signal: ctrlC.signal,
      onOut: (text) => (shown = text),
    });
    await eventually('the first state', () => shown !== '');
    expect(showsHolder(shown)).toBe(false);
    const lease = await hf.lock(name);
    await eventually('the change', () => showsHolder(shown));
    ctrlC.abort(new Error('ended by SIGINT'));
    const { out } = await watching;
    expect(out.endsWith('\n')).toBe(true);
    if (format === 'table') expect(plain(out).split('\n')[0]).toBe('TIME  free  waiters 0');
    await lease.release();
  });
});

describe('revoke', () => {
  test('tells when the lock becomes free without --force, and at once with --force', async () => {
    await hf.lock('revoke/a', { ttl: '60s' });
    const soft = await holdfast('lock revoke revoke/a --all');
    expect(soft).toMatchObject({ out: '', code: 0 });
    expect(soft.err).toMatch(/^revoked: 1; free in ([\d.]+s|1m)\n$/);
    await hf.lock('revoke/b', { ttl: '60s' });
    expect(await holdfast('lock revoke revoke/b --all --force')).toEqual({
      out: '',
      err: 'revoked: 1; free now\n',
      code: 0,
    });
  });

  test('ends the wait of one waiter', async () => {
    const lease = await hf.lock('revoke/queue');
    const waiting = hf.lock('revoke/queue').then(
      () => 'granted',
      (error: Error) => error.message,
    );
    const waiters = async () =>
      (await holdfast('lock get revoke/queue -o json')).out.includes('"waiterCount": 1');
    await eventually('a waiter', waiters);
    expect(await holdfast('lock revoke revoke/queue --waiter 1')).toEqual({
      out: '',
      err: 'revoked: 1\n',
      code: 0,
    });
    expect(await waiting).not.toBe('granted');
    await lease.release();
  });

  test('refuses a token that is no number, and two targets, as wrong usage', async () => {
    expect(await holdfast('lock revoke revoke/c --token x')).toMatchObject({ out: '', code: 64 });
    expect(await holdfast('lock revoke revoke/c --token 1 --all')).toMatchObject({
      err: 'give one of --token, --all and --waiter\n',
      code: 64,
    });
    expect(await holdfast('lock revoke revoke/c')).toMatchObject({ code: 64 });
  });

  test('tells that there is nothing to revoke, with 1', async () => {
    expect(await holdfast('lock revoke revoke/none --all')).toEqual({
      out: '',
      err: 'nothing to revoke: lock "revoke/none" has no such lease or waiter any more\n',
      code: 1,
    });
  });
});

describe('semaphore', () => {
  test('is created, changed under a condition, listed and deleted', async () => {
    expect(await holdfast('semaphore set-limit s/a 3')).toEqual({
      out: 'semaphore  s/a\nstate      free\npermits    0 of 3 used\nwaiters    0\n',
      err: '',
      code: 0,
    });
    expect(await holdfast('semaphore set-limit s/a 5 --expected 4')).toMatchObject({ out: '', code: 1 });
    expect(parsed((await holdfast('semaphore set-limit s/a 5 --expected 3 -o json')).out)).toMatchObject({
      limit: 5,
    });
    expect((await holdfast('semaphore list s/')).out).toBe(
      'NAME  USED  LIMIT  HOLDERS  WAITERS  HOLDER\ns/a      0      5        0        0  free\n',
    );
    expect(await holdfast('semaphore delete s/a')).toEqual({
      out: '',
      err: 'deleted: semaphore "s/a"\n',
      code: 0,
    });
    expect(await holdfast('semaphore get s/a')).toMatchObject({ code: 1 });
  });

  test('is paused and resumed, and shows the limit that comes back', async () => {
    await holdfast('semaphore set-limit pause/a 3');
    const lease = await hf.permits('pause/a');
    const shown = (state: string, permits: string) =>
      expect.stringContaining(
        `semaphore   pause/a\nstate       ${state}\npermits     ${permits}\nwaiters     0\n`,
      ) as string;
    const paused = {
      out: shown('held by 1, paused', '1 used; "holdfast semaphore resume" brings back the limit 3'),
      err: '',
      code: 0,
    };
    expect(await holdfast('semaphore pause pause/a --expected 3')).toEqual(paused);
    expect(await holdfast('semaphore pause pause/a')).toEqual(paused);
    expect(await holdfast('semaphore get pause/a')).toEqual(paused);
    expect((await holdfast('semaphore list pause/')).out).toBe(
      'NAME     USED     LIMIT  HOLDERS  WAITERS  HOLDER\npause/a     1  3 paused        1        0  holder\n',
    );
    expect(parsed((await holdfast('semaphore get pause/a -o json')).out)).toMatchObject({ keptLimit: 3 });
    expect((await holdfast('semaphore run pause/a --wait 0s -- true')).err).toContain(
      'it is paused; "holdfast semaphore resume" brings back its limit of 3',
    );
    const waiting = hf.permits('pause/a', { wait: '1m' });
    await eventually('the waiter in top', async () =>
      / 1\/3 paused  holder$/m.test((await holdfast('top pause/ --once')).out),
    );
    const resumed = { out: shown('held by 2', '2 of 3 used'), err: '', code: 0 };
    expect(await holdfast('semaphore resume pause/a')).toEqual(resumed);
    expect(await holdfast('semaphore resume pause/a')).toEqual(resumed);
    await Promise.all([lease.release(), (await waiting).release()]);
  });

  test('with the limit 0 and no pause is neither paused nor resumed, and the error says what to do', async () => {
    await holdfast('semaphore set-limit pause/zero 0');
    expect(await holdfast('semaphore resume pause/zero')).toEqual({
      out: '',
      err: 'semaphore "pause/zero" has the limit 0, and no kept limit to bring back: nothing was changed; set a limit [LIMIT_MISMATCH]\n',
      code: 1,
    });
    expect(await holdfast('semaphore pause pause/zero')).toMatchObject({ code: 1 });
    expect(await holdfast('semaphore pause pause/none')).toMatchObject({
      err: expect.stringContaining('NO_SUCH_SEMAPHORE') as string,
      code: 1,
    });
  });

  test('with a holder is deleted only with --force', async () => {
    await holdfast('semaphore set-limit s/held 1');
    await hf.permits('s/held');
    expect(await holdfast('semaphore delete s/held')).toMatchObject({ code: 1 });
    expect(await holdfast('semaphore delete s/held --force')).toMatchObject({ code: 0 });
  });

  test('refuses a limit that is no number, with 64', async () => {
    expect(await holdfast('semaphore set-limit s/b many')).toMatchObject({ out: '', code: 64 });
  });
});

describe('status', () => {
  test('shows the version, the store and the range of the ttl', async () => {
    const { out, code } = await holdfast('status');
    expect(code).toBe(0);
    expect(out).toMatch(/^version +\d+\.\d+\.\d+/);
    expect(out).toMatch(/^store +ready$/m);
    expect(out).toMatch(/^ttl +100ms to 2m, default 30s$/m);
    expect(out).not.toMatch(/^quarantine/m);
  });

  test('prints JSON', async () => {
    expect(parsed((await holdfast('status -o json')).out)).toMatchObject({ maxTtl: '120s' });
  });

  test('tells that there is no quarantine to end', async () => {
    expect(await holdfast('end-quarantine --reason test')).toEqual({
      out: '',
      err: 'there was no quarantine\n',
      code: 0,
    });
    expect(await holdfast('end-quarantine')).toMatchObject({ code: 64 });
  });
});

describe('help', () => {
  test('--help of each command fits 80 columns, on stdout', async () => {
    const ask = async (words: readonly string[]): Promise<number> => {
      const { out, err, code } = await holdfast([...words, '--help'].join(' '));
      expect([err, code]).toEqual(['', 0]);
      const wide = out.split('\n').filter((line) => line.length > 80);
      expect([words, wide]).toEqual([words, []]);
      expect([words, out]).toEqual([words, expect.stringMatching(/\nExamples?:\n {2}\S/)]);
      const [, list = ''] = /^Commands:\n((?: {2}.*\n)*)/m.exec(out) ?? [];
      const commands = [...list.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name as string);
      const counts = await Promise.all(
        commands.filter((name) => name !== 'help').map((name) => ask([...words, name])),
      );
      return counts.reduce((sum, count) => sum + count, 1);
    };
    expect(await ask([])).toBeGreaterThan(40);
  });

  test('an unknown command is wrong usage, on stderr', async () => {
    const { out, err, code } = await holdfast('lokc');
    expect([out, code]).toEqual(['', 64]);
    expect(err).toContain("unknown command 'lokc'");
    expect(err).toContain('lock');
  });
});
