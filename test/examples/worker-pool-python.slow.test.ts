import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SemaphoreClient } from '../support/clients/semaphore-client';
import { eventually } from '../support/eventually';
import { sayNotChecked } from '../support/not-checked';
import { findPythonExample } from './launchers';
import { Stage, TTL_MS } from './stage';
import type { Launcher, WorkerProcess } from './worker-process';

const run = promisify(execFile);
/** The time in which eight Python processes start on a busy machine. */
const START_MS = 20_000;
const TEST_MS = 60_000;
/** The time left on a lease, for lines of a record in which the deadline does not matter. */
const LONG_LEFT = 30_000;

let stage: Stage | undefined;
let pool: Launcher | undefined;
let tally: Launcher | undefined;

beforeAll(async () => {
  const found = await findPythonExample('worker-pool-python', 'pool.py');
  if (typeof found === 'string') return sayNotChecked('the Python pool', found);
  pool = found;
  tally = (await findPythonExample('worker-pool-python', 'tally.py')) as Launcher;
  stage = await Stage.open();
}, 240_000);

afterAll(() => stage?.close());
beforeEach(() => stage?.reset());
afterEach(() => stage?.clear());

const check = (name: string, body: (stage: Stage, pool: Launcher) => Promise<void>): void =>
  test(
    name,
    async () => {
      if (stage && pool) await body(stage, pool);
    },
    TEST_MS,
  );

function recordOf(stage: Stage): string {
  return join(stage.folder, `${stage.name}.jsonl`);
}

async function startPool(
  stage: Stage,
  pool: Launcher,
  servers: readonly { readonly listen: string }[],
  args: readonly string[],
): Promise<WorkerProcess> {
  const server = servers.map(({ listen }) => listen).join(',');
  const common = ['--server', server, '--name', stage.name, '--record', recordOf(stage)];
  return stage.start(pool, [...common, '--ttl', `${TTL_MS}ms`, ...args]);
}

/** Calls `use` with a client of its own, which does not belong to the pool. */
async function withClient<T>(stage: Stage, use: (client: SemaphoreClient) => Promise<T>): Promise<T> {
  const client = new SemaphoreClient(stage.servers[0]?.listen ?? '');
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

async function judge(record: string): Promise<{ readonly code: number; readonly text: string }> {
  if (!tally) throw new Error('there is no Python');
  try {
    const { stdout } = await run(tally.command, [...tally.args, record], {
      env: { ...process.env, ...tally.env },
    });
    return { code: 0, text: stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { code, text: stdout };
  }
}

/** Kills workers until one of them was at work. Returns its name and the time of the kill. */
async function killOneAtWork(worker: WorkerProcess): Promise<{ readonly name: string; readonly at: number }> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const known = worker.lines.length;
    const find = () => {
      const news = worker.lines
        .slice(known)
        .map(({ text }) => /at work \d+, limit \d+: .*\b(w\d+)×/.exec(text));
      return news.find((match) => match)?.[1];
    };
    const name = await eventually('a worker at work', find, { timeoutMs: START_MS });
    const { match } = await worker.line(new RegExp(`${name}: pid (\\d+),`));
    const at = performance.now();
    process.kill(Number(match[1]), 'SIGKILL');
    const { match: killed } = await worker.line(
      new RegExp(`${name}: killed by SIGKILL, (not at work|at work: .*); replaced by ${name}\\.2, pid \\d+$`),
    );
    if (killed[1] !== 'not at work') return { name, at };
  }
  throw new Error(`of five workers none was killed at work:\n${worker.output}`);
}

check(
  'the Python pool never uses more permits than its changing limit while a worker and a server are killed',
  async (stage, pool) => {
    const first = await stage.extraServer();
    const servers = [first, ...stage.servers];
    const args = ['--workers', '6', '--limit', '3', '--schedule', '3,1,5,0,4', '--every', '1500ms'];
    const worker = await startPool(stage, pool, servers, [...args, '--step', '150ms']);
    await worker.line(/conductor: limit 3 → 3;/, START_MS);

    await withClient(stage, async (client) => {
      const dead = await killOneAtWork(worker);
      const isBack = async () =>
        !(await client.get(stage.name)).holders.some(({ holderId }) => holderId === dead.name);
      await eventually('its permits to be free', isBack, { timeoutMs: 10_000 });
      // The last renewal was at most a third of the ttl before the kill.
      expect(performance.now() - dead.at).toBeGreaterThan(TTL_MS / 3);
    });
    await first.kill();
    await worker.line(/w\d\S*: stream failed .*; (attaching by lease_id|still waiting by request_id)/);

    const { match } = await worker.line(/NEVER_FITS: (\d) asked for, limit (\d); retrying/, START_MS);
    expect(Number(match[1])).toBeGreaterThan(Number(match[2]));
    expect(await worker.exit(START_MS)).toEqual({ code: 0, signal: null });
    expect(worker.lines.at(-1)?.text).toBe('never over the limit');
    expect(worker.has(/^workers replaced: [1-5]$/)).toBe(true);
    expect(worker.has(/^jobs: \d+ done, [1-5] killed/)).toBe(true);
    const granted = worker.lines.flatMap(({ text }) => {
      const match = /^limit (\d): at most (\d) at once/.exec(text);
      return match ? [{ limit: Number(match[1]), most: Number(match[2]) }] : [];
    });
    expect(granted.filter(({ limit, most }) => most > limit)).toEqual([]);
    // The limits 3, 1, 5 and 4 allow grants. A killed worker and a long job may leave no time for one of these limits.
    expect(granted.length).toBeGreaterThanOrEqual(3);
    expect(granted.map(({ limit }) => limit)).not.toContain(0);
    expect(worker.has(/failed:|Traceback/)).toBe(false);

    // tally.py counts the record again with the same result. With doubled permits tally.py must fail.
    const summary = await judge(recordOf(stage));
    expect(worker.output).toContain(summary.text.trimEnd());
    const record = await readFile(recordOf(stage), 'utf8');
    await writeFile(
      recordOf(stage),
      record.replaceAll(/"permits": (\d+)/g, (_, permits) => `"permits": ${2 * permits}`),
    );
    expect(await judge(recordOf(stage))).toMatchObject({
      code: 1,
      text: expect.stringMatching(/OVER THE LIMIT, \d+ times:/),
    });
  },
);

check(
  'the Python pool reports a limit that another program sets, and releases all permits on Ctrl-C',
  async (stage, pool) => {
    const schedule = ['--schedule', '2,4', '--every', '2s', '--step', '100ms'];
    // No lease ends by its ttl during the test, so only releases free permits.
    const args = ['--workers', '4', '--limit', '2', ...schedule, '--ttl', '60s'];
    const worker = await startPool(stage, pool, stage.servers, args);
    await worker.line(/conductor: limit 2 → 2;/, START_MS);
    await withClient(stage, async (client) => {
      await client.setLimit(stage.name, 3);
      await worker.line(/conductor: LIMIT_MISMATCH, limit 3, not 2: another program has set it/);
      await worker.line(/conductor: limit 3 → 4; limit 4, used \d, overcommitted 0, waiters \d; held by/);

      worker.signal('SIGINT');
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.lines.at(-1)?.text).toBe('never over the limit');
      // The server may notice the end of a waiter's stream shortly after the waiter's process has ended.
      const left = async () => {
        const { usedCount, waiterCount } = await client.get(stage.name);
        return usedCount + waiterCount === 0;
      };
      await eventually('nothing to be held or waited for', left);
    });
  },
);

type Line = Readonly<Record<string, unknown>>;
const begin = (
  token: number,
  permits = 1,
  { at = 0, left = LONG_LEFT, worker = `w${token}` } = {},
): Line => ({
  ...{ what: 'begin', at, left },
  ...{ worker, token, permits },
});
const step = (token: number, at: number, left: number): Line => ({
  ...begin(token, 1, { at, left }),
  what: 'step',
});
const end = (token: number): Line => ({ what: 'end', at: 0, worker: `w${token}`, token, result: 'done' });
const gone = (worker: string): Line => ({ what: 'gone', at: 0, worker });
const limit = (limit: number, since: number, token: number): Line => ({
  what: 'limit',
  at: 0,
  limit,
  since,
  token,
});

const RIGHT: readonly [string, readonly Line[]][] = [
  ['as many permits as the limit', [limit(3, 0, 0), begin(1), begin(2, 2)]],
  ['jobs one after the other', [limit(1, 0, 0), begin(1), end(1), begin(2), end(2)]],
  ['jobs that ran when the limit was lowered', [limit(3, 0, 0), begin(1), begin(2, 2), limit(1, 2, 2)]],
  [
    'a late line of a job that was granted before the limit was lowered',
    [limit(2, 0, 0), begin(1), limit(1, 2, 2), begin(2)],
  ],
  [
    'a job that writes its line before the line of the raised limit',
    [limit(1, 0, 0), begin(1), begin(2), limit(2, 1, 1)],
  ],
  ['a new job after a killed job was seen gone', [limit(1, 0, 0), begin(1), gone('w1'), begin(2)]],
  [
    'a job beside a process that is stopped past its deadline',
    [limit(1, 0, 0), begin(1, 1, { left: 1 }), begin(2, 1, { at: 2 })],
  ],
  [
    'a grant at a time for which the limit is not known',
    [limit(1, 0, 0), begin(4), begin(5), limit(2, 3, 5), limit(1, 6, 6)],
  ],
];

const WRONG: readonly [string, readonly Line[], RegExp][] = [
  [
    'one job more than the limit',
    [limit(3, 0, 0), begin(1), begin(2), begin(3), begin(4)],
    /4 permits at work, .* limit 3/,
  ],
  ['a job with too many permits', [limit(3, 0, 0), begin(1), begin(2), begin(3, 2)], /4 permits at work/],
  [
    'a grant while earlier jobs are over the limit',
    [limit(3, 0, 0), begin(1, 3), limit(1, 1, 1), begin(2)],
    /4 permits at work, .* limit 1/,
  ],
  ['a grant under the limit 0', [limit(1, 0, 0), limit(0, 1, 1), begin(2)], /1 permits at work, .* limit 0/],
  [
    'a new job while a killed job was not seen gone',
    [limit(1, 0, 0), begin(1), begin(2)],
    /2 permits at work/,
  ],
  [
    'a grant after the raised limit was lowered again',
    [limit(2, 0, 0), limit(1, 0, 3), begin(4), begin(5)],
    /2 permits at work, .* limit 1/,
  ],
  [
    'a step after the deadline',
    [limit(1, 0, 0), begin(1), step(1, 2, -0.1)],
    /w1 began a step past the deadline/,
  ],
  [
    'a job that continues after its deadline',
    [limit(1, 0, 0), begin(1, 1, { left: 1 }), begin(2, 1, { at: 2 }), step(1, 3, 1)],
    /2 permits at work/,
  ],
  [
    'one token for two jobs',
    [limit(2, 0, 0), begin(1), begin(1, 1, { worker: 'w2' })],
    /token 1 was granted twice/,
  ],
];

async function judgeLines(stage: Stage, lines: readonly Line[]): ReturnType<typeof judge> {
  await writeFile(recordOf(stage), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return judge(recordOf(stage));
}

check('tally.py of the Python pool accepts correct records', async (stage) => {
  for (const [title, lines] of RIGHT) {
    expect([title, await judgeLines(stage, lines)]).toEqual([
      title,
      { code: 0, text: expect.stringContaining('\nnever over the limit\n') },
    ]);
  }
  const lowered = await judgeLines(stage, [limit(3, 0, 0), begin(1, 3), limit(1, 1, 1), end(1), begin(2)]);
  expect(lowered.text.split('\n').slice(1, 3)).toEqual([
    'limit 1: at most 1 at once; 3 were granted before it',
    'limit 3: at most 3 at once',
  ]);
});

check('tally.py of the Python pool rejects records over the limit', async (stage) => {
  for (const [title, lines, fault] of WRONG) {
    expect([title, await judgeLines(stage, lines)]).toEqual([
      title,
      { code: 1, text: expect.stringMatching(fault) },
    ]);
  }
});
