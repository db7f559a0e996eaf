import { readFileSync } from 'node:fs';
import { SemaphoreClient } from '../../support/clients/lease-client';
import { eventually } from '../../support/eventually';
import { EXIT, LONG_TTL_MS, SHORT_TTL_MS, SLACK_MS, type Scene, type SceneContext } from './scene';

interface PoolOptions {
  readonly jobs: number;
  readonly limit: number;
  readonly jobMs: number;
  readonly ttlMs: number;
}

/** All pools of a scene write into one file, so that the order of their lines is the order of the events. */
function pool({ stage, program }: SceneContext, holder: string, { jobs, limit, jobMs, ttlMs }: PoolOptions) {
  const args = [
    stage.name,
    ...['--holder', holder, '--servers', stage.addresses],
    ...['--jobs', String(jobs), '--limit', String(limit)],
    ...['--job-ms', String(jobMs), '--ttl-ms', String(ttlMs)],
  ];
  return stage.start(program('pool'), args, { appendTo: stage.file('pool') });
}

function linesOf({ stage }: SceneContext): string[] {
  return readFileSync(stage.file('pool'), 'utf8').split('\n').slice(0, -1);
}

function countOf(context: SceneContext, pattern: RegExp): number {
  return linesOf(context).filter((line) => pattern.test(line)).length;
}

/** The number of running jobs after each line. */
function running(lines: readonly string[]): number[] {
  let count = 0;
  return lines.map((line) => {
    if (/ begins under token \d+$/.test(line)) count += 1;
    if (/ ends$/.test(line)) count -= 1;
    return count;
  });
}

async function sharesLimit(context: SceneContext): Promise<void> {
  const options = { jobs: 5, limit: 2, jobMs: 200, ttlMs: LONG_TTL_MS };
  const pools = await Promise.all(['alice', 'bob'].map((holder) => pool(context, holder, options)));
  for (const process of pools) expect(await process.exit()).toEqual(EXIT.done);
  const lines = linesOf(context);
  expect(Math.max(...running(lines))).toBe(2);
  for (const holder of ['alice', 'bob']) {
    const own = lines.filter((line) => line.startsWith(`${holder}: `));
    expect(own.at(-1)).toBe(`${holder}: 5 jobs done`);
    const numbers = own.flatMap((line) => /: job (\d+) ends$/.exec(line)?.[1] ?? []);
    expect(numbers.sort()).toEqual(['1', '2', '3', '4', '5']);
  }
  const tokens = lines.flatMap((line) => /under token (\d+)$/.exec(line)?.[1] ?? []);
  expect(new Set(tokens).size).toBe(10);
}

async function permitsComeBack(context: SceneContext): Promise<void> {
  const { stage } = context;
  const common = { limit: 3, ttlMs: SHORT_TTL_MS };
  const bob = await pool(context, 'bob', { ...common, jobs: 3, jobMs: LONG_TTL_MS });
  await eventually("bob's jobs to begin", () => countOf(context, /^bob: .* begins/) === 3);
  const alice = await pool(context, 'alice', { ...common, jobs: 3, jobMs: 1000 });
  const client = new SemaphoreClient(stage.servers[0]?.listen ?? '');
  try {
    const isWaiting = async () => (await client.get(stage.name)).waiterCount === 3;
    await eventually("alice's jobs to wait", isWaiting);
  } finally {
    client.close();
  }
  const killedAt = performance.now();
  bob.signal('SIGKILL');
  await eventually("alice's jobs to begin", () => countOf(context, /^alice: .* begins/) > 0);
  const waitedMs = performance.now() - killedAt;
  // The last renewal was at most a third of the ttl before the kill.
  expect(waitedMs).toBeGreaterThan(SHORT_TTL_MS / 3);
  expect(waitedMs).toBeLessThan(2 * SHORT_TTL_MS + SLACK_MS);
  expect(await alice.exit()).toEqual(EXIT.done);
  expect(linesOf(context).at(-1)).toBe('alice: 3 jobs done');
}

export const POOL_SCENES: readonly Scene[] = [
  { title: 'pool: two processes together never run more jobs than the limit', run: sharesLimit },
  { title: 'pool: the permits of a killed process come back after the ttl', run: permitsComeBack },
];
