import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { findRedisServer } from '../../src/dev/find-redis';
import { runCommand } from '../../src/dev/run-command';
import { readVersion } from '../../src/base/redis-address';
import { ROOT } from '../../test/support/root';

/** The machine and the versions of a measurement. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  /** The load average of the last minute. Above `cores`, other work disturbed the measurement. */
  readonly load: number;
  readonly node: string;
  readonly redis: string;
  readonly holdfast: string;
  readonly commit: string;
}

export async function describeMachine(): Promise<Machine> {
  const [processor] = cpus();
  const redis = await findRedisServer({ env: process.env, note: (text) => console.error(text) });
  return {
    processor: processor?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: `${type()} ${release()}`,
    load: Number((loadavg()[0] ?? NaN).toFixed(1)),
    node: process.version,
    redis: `${redis.product} ${redis.version}`,
    holdfast: readVersion(),
    commit: await commit(),
  };
}

/** The commit, with "+" if the tree had changes; "unknown" without git. */
export async function commit(): Promise<string> {
  const git = (...args: string[]) => runCommand('git', args, { cwd: ROOT, timeoutMs: 10_000 });
  const head = await git('rev-parse', '--short=12', 'HEAD');
  if (head.code !== 0) return 'unknown';
  const changes = await git('status', '--porcelain', '--untracked-files=no', '--', ':!bench/results');
  return head.stdout.trim() + (changes.stdout.trim() === '' ? '' : '+');
}
