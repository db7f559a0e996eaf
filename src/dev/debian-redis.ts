import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchPackages, type PackageSet } from './apt-fetch';
import { cacheDirectory } from './cache-directory';
import type { RedisServerProgram, Refusal } from './redis-program';
import { runCommand } from './run-command';
import { machineName, moveTo, removeLeftovers, SCRATCH_PREFIX, serverIn } from './unpacked-folder';

/** The package sets to try, in this order. A Debian release may lack one of the two sets. */
const PACKAGES: readonly PackageSet[] = [
  ['redis-server', 'redis-tools'],
  ['valkey-server', 'valkey-tools'],
];
const TOOL_TIMEOUT_MS = 30_000;

export interface UnpackOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly note: (text: string) => void;
}

/**
 * Unpacks a Redis server from the packages of this machine's Debian or Ubuntu release into the user's cache. Root is
 * not required, and nothing is installed. Only the first call downloads. Later calls only check that the program runs.
 */
export async function unpackedServer({ env, note }: UnpackOptions): Promise<RedisServerProgram | Refusal> {
  const cache = await cacheDirectory(env);
  if (cache === undefined) return { refused: 'there is no writable folder to unpack a package into' };
  const target = join(cache, `redis-${await machineName()}`);
  const cached = await serverIn(target, env);
  if (!('refused' in cached)) return cached;

  for (const tool of ['apt-get', 'dpkg']) {
    const { code } = await runCommand(tool, ['--version'], { env, timeoutMs: TOOL_TIMEOUT_MS });
    if (code !== 0) {
      return { refused: `no package can be downloaded: there is no ${tool} on this machine` };
    }
  }
  note(`no redis-server on the PATH: unpacking the distribution's package into ${target}`);
  await removeLeftovers(cache);
  return (await downloadInto(target, cache, env)) ?? serverIn(target, env);
}

/** Downloads and unpacks the packages, then moves the folder to `target`. Returns the reason of a failure. */
async function downloadInto(
  target: string,
  cache: string,
  env: NodeJS.ProcessEnv,
): Promise<Refusal | undefined> {
  const scratch = join(cache, `${SCRATCH_PREFIX}${randomUUID()}`);
  const root = join(scratch, 'root');
  try {
    await mkdir(scratch, { mode: 0o700 });
    const problem = await fetchPackages(PACKAGES, env, scratch, root);
    if (problem !== undefined) {
      return { refused: `the distribution's package could not be downloaded: ${problem}` };
    }
    const unpacked = await serverIn(root, env);
    if ('refused' in unpacked) return unpacked;
    await moveTo(root, target, env);
    return undefined;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
