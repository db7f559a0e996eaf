import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Feature } from '../../generated/typescript/holdfast/v1/server_service';
import { HoldfastError } from '../../src/base/errors';
import { Harness } from '../contract/harness';
import { ServerPair, untilWaiterCount } from '../end-to-end/server-pair';
import { CliProcess } from '../support/cli/cli-process';
import { runProgram } from '../support/cli/run-program';
import type { SemaphoreClient } from '../support/clients/lease-client';
import { closeAll, eventually } from '../support/eventually';
import { scratchFolder } from '../support/scratch-folder';

describe('semaphore pause and resume, in processes at two servers', () => {
  let pair: ServerPair;
  let client: SemaphoreClient;
  const open: CliProcess[] = [];

  beforeAll(async () => {
    pair = await ServerPair.start();
    client = pair.first.semaphores();
  });
  afterEach(() => closeAll(...open.splice(0).map((cli) => () => cli.close())));
  afterAll(() => pair?.close());

  function start(address: string, ...args: string[]): CliProcess {
    const cli = new CliProcess(args, { env: { HOLDFAST_ADDRESS: address } });
    open.push(cli);
    return cli;
  }

  async function done(address: string, ...args: string[]): Promise<string> {
    const cli = start(address, ...args);
    expect([await cli.ended(), cli.stderr]).toEqual([{ code: 0, signal: null }, '']);
    return cli.stdout;
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
    expect(await holder.ended()).toEqual({ code: 0, signal: null });
    expect(await client.get(name)).toMatchObject({ keptLimit: 1, usedCount: 0, waiterCount: 3 });
    expect(logged()).toEqual(['holder']);
    await done(other, 'semaphore', 'resume', name);
    for (const cli of waiting) expect(await cli.ended()).toEqual({ code: 0, signal: null });
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
