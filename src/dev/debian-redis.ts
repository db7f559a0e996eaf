import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fetchPackages, type PackageSet } from './apt-fetch';
import { cacheDirectory } from './cache-directory';
import type { RedisServerProgram, Refusal } from './redis-server';
import { runCommand } from './run-command';

/** What to unpack, the better-known first: a release may have dropped either. */
const PACKAGES: readonly PackageSet[] = [
  ['redis-server', 'redis-tools'],
  ['valkey-server', 'valkey-tools'],
];
const PROGRAMS = ['usr/bin/redis-server', 'usr/bin/valkey-server'];
const TOOL_TIMEOUT_MS = 30_000;
const LEFTOVER_AGE_MS = 60 * 60_000;

type TryServer = (command: string, env: NodeJS.ProcessEnv) => Promise<RedisServerProgram | Refusal>;

export interface UnpackOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly note: (text: string) => void;
  readonly tryServer: TryServer;
}

/** The folders below an unpacked package that hold shared libraries. */
async function libraryFolders(root: string): Promise<string[]> {
  const paths = await readdir(root, { recursive: true }).catch(() => []);
  const libraries = paths.filter((path) => /\.so(\.|$)/.test(basename(path)));
  return [...new Set(libraries.map((path) => join(root, dirname(path))))].sort();
}

/** The server of an unpacked folder, if it runs. */
async function serverIn(
  folder: string,
  env: NodeJS.ProcessEnv,
  tryServer: TryServer,
): Promise<RedisServerProgram | Refusal> {
  const program = PROGRAMS.map((program) => join(folder, program)).find((file) => existsSync(file));
  if (program === undefined) return { refused: `${folder} holds no server` };
  const path = [...(await libraryFolders(folder)), env['LD_LIBRARY_PATH'] ?? ''].filter((one) => one !== '');
  return tryServer(program, { ...env, LD_LIBRARY_PATH: path.join(':') });
}

/** Debian release and processor: a home folder may be shared between machines. */
async function machineName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const field = (name: string): string =>
    new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(release)?.[1] ?? 'unknown';
  return `${field('ID')}-${field('VERSION_ID')}-${process.arch}`;
}

/** Removes what interrupted runs have left, once it is certainly nobody's. */
async function removeLeftovers(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    if (!name.startsWith('.fetch-')) continue;
    const made = await stat(join(cache, name)).catch(() => undefined);
    if (made && Date.now() - made.mtimeMs > LEFTOVER_AGE_MS) {
      await rm(join(cache, name), { recursive: true, force: true });
    }
  }
}

/**
 * Puts the finished folder in its place in one step. Two may do so at once: where a folder is there by now and
 * works it is as good as ours, and somebody may be running it; a broken one goes aside.
 */
async function moveIntoPlace(
  target: string,
  place: string,
  isWorking: () => Promise<boolean>,
): Promise<void> {
  if (await isWorking()) return;
  if (existsSync(place)) await rename(place, `${target}-broken`).catch(() => undefined);
  await rename(target, place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}

/**
 * The redis-server of this machine's own Debian or Ubuntu packages, unpacked into the user's cache: no root, and
 * nothing is installed. Fetched once; afterwards it takes only a look whether it still runs.
 */
export async function unpackedServer(options: UnpackOptions): Promise<RedisServerProgram | Refusal> {
  const { env, note, tryServer } = options;
  const cache = await cacheDirectory(env);
  if (cache === undefined) return { refused: 'no folder to unpack a package into can be written' };
  const place = join(cache, `redis-${await machineName()}`);
  const known = await serverIn(place, env, tryServer);
  if (!('refused' in known)) return known;

  for (const tool of ['apt-get', 'dpkg']) {
    const there = await runCommand(tool, ['--version'], { env, timeoutMs: TOOL_TIMEOUT_MS });
    if (there.code !== 0)
      return { refused: `no package can be fetched: there is no ${tool} on this machine` };
  }
  note(`no redis-server on the PATH: unpacking the distribution's package into ${place}`);
  await removeLeftovers(cache);
  const scratch = join(cache, `.fetch-${randomUUID()}`);
  const target = join(scratch, 'root');
  try {
    await mkdir(scratch, { mode: 0o700 });
    const problem = await fetchPackages(PACKAGES, env, scratch, target);
    if (problem !== undefined)
      return { refused: `the distribution's package could not be fetched: ${problem}` };
    const fresh = await serverIn(target, env, tryServer);
    if ('refused' in fresh) return fresh;
    await moveIntoPlace(target, place, async () => !('refused' in (await serverIn(place, env, tryServer))));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return serverIn(place, env, tryServer);
}
