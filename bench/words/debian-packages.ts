import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchPackages, machineName, type PackageSet, SCRATCH_PREFIX } from '../../src/dev/debian-packages';
import { cacheDirectory } from '../../src/dev/find-redis';

/** The path of `name` in the user's cache. The packages differ between releases of Debian, so the path names the release. */
export async function cachePath(name: string): Promise<string | undefined> {
  const cache = await cacheDirectory(process.env);
  return cache && join(cache, `${name}-${await machineName()}`);
}

/**
 * Unpacks packages of this machine's Debian release into the user's cache. Root is not required, and nothing is installed.
 * Only the first call downloads. Resolves to the folder, or to the reason why there is none.
 */
export async function unpackedPackages(
  name: string,
  packages: PackageSet,
): Promise<{ readonly folder: string } | { readonly missing: string }> {
  const folder = await cachePath(name);
  if (folder === undefined) return { missing: 'there is no writable folder to unpack a package into' };
  if (existsSync(folder)) return { folder };
  const scratch = join(folder, '..', `${SCRATCH_PREFIX}${randomUUID()}`);
  const root = join(scratch, 'root');
  try {
    await mkdir(scratch, { mode: 0o700 });
    const problem = await fetchPackages([packages], process.env, scratch, root);
    if (problem !== undefined) return { missing: `the package ${packages[0]} is not available: ${problem}` };
    await rename(root, folder);
    return { folder };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
