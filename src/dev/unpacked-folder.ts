import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { tryServer, type RedisServerProgram, type Refusal } from './redis-program';

const PROGRAMS = ['usr/bin/redis-server', 'usr/bin/valkey-server'];
/** The name prefix of folders with unfinished downloads. */
export const SCRATCH_PREFIX = '.fetch-';
const LEFTOVER_AGE_MS = 60 * 60_000;

/** The folders of an unpacked package that contain shared libraries. */
async function libraryFolders(root: string): Promise<string[]> {
  const paths = await readdir(root, { recursive: true }).catch(() => []);
  const libraries = paths.filter((path) => /\.so(\.|$)/.test(basename(path)));
  return [...new Set(libraries.map((path) => join(root, dirname(path))))].sort();
}

/** The Redis server of an unpacked folder, or the reason why it does not run. */
export async function serverIn(
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<RedisServerProgram | Refusal> {
  const program = PROGRAMS.map((path) => join(folder, path)).find((file) => existsSync(file));
  if (program === undefined) return { refused: `${folder} holds no Redis server` };
  const libraryPath = [...(await libraryFolders(folder)), env['LD_LIBRARY_PATH'] ?? '']
    .filter((path) => path !== '')
    .join(':');
  return tryServer(program, { ...env, LD_LIBRARY_PATH: libraryPath });
}

/** Names the Debian release and the processor, because machines of different kinds may share a home folder. */
export async function machineName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const field = (name: string): string =>
    new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(release)?.[1] ?? 'unknown';
  return `${field('ID')}-${field('VERSION_ID')}-${process.arch}`;
}

/** Removes the scratch folders of interrupted runs. A folder older than LEFTOVER_AGE_MS is not in use any more. */
export async function removeLeftovers(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    if (!name.startsWith(SCRATCH_PREFIX)) continue;
    const made = await stat(join(cache, name)).catch(() => undefined);
    if (made && Date.now() - made.mtimeMs > LEFTOVER_AGE_MS) {
      await rm(join(cache, name), { recursive: true, force: true });
    }
  }
}

/**
 * Renames the finished folder to `target` in one step. Another process may have done the same before. A folder with a
 * program that runs stays, because the other process may use it. A folder with a broken program is replaced.
 */
export async function moveTo(finished: string, target: string, env: NodeJS.ProcessEnv): Promise<void> {
  if (!('refused' in (await serverIn(target, env)))) return;
  if (existsSync(target)) await rename(target, `${finished}-broken`).catch(() => undefined);
  await rename(finished, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}
