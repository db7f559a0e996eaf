import { randomUUID } from 'node:crypto';
import { access, constants, lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { OLDEST_REDIS } from '../base/redis-address';
import {
  fetchPackages,
  machineName,
  moveTo,
  type PackageSet,
  removeLeftovers,
  SCRATCH_PREFIX,
  serverIn,
} from './debian-packages';
import { type RedisServerProgram, type Refusal, runCommand, tryServer } from './run-command';

/** The home folder. Empty in a container with an unknown user id, where homedir() throws. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}

function userId(): number {
  return process.getuid?.() ?? 0;
}

/** Folders for a user's cache, in order of preference. The last folder is for users without a home folder. */
function candidates(env: NodeJS.ProcessEnv): string[] {
  const { XDG_CACHE_HOME: xdg, HOME: home = homeFolder() } = env;
  return [
    ...(xdg !== undefined && isAbsolute(xdg) ? [join(xdg, 'holdfast')] : []),
    ...(isAbsolute(home) ? [join(home, '.cache', 'holdfast')] : []),
    join(tmpdir(), `holdfast-${userId()}`),
  ];
}

/**
 * Creates the folder if necessary. Returns true if this user owns the folder and no other user can write to the folder.
 * Programs from this folder are run later, so a folder of another user in the shared temporary folder is refused.
 */
export async function isPrivateFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found = await lstat(folder);
    if (!found.isDirectory() || found.uid !== userId() || (found.mode & 0o022) !== 0) return false;
    const probe = join(folder, `.probe-${randomUUID()}`);
    await writeFile(probe, '');
    await rm(probe);
    return true;
  } catch {
    return false;
  }
}

/** A private folder for files that can be downloaded again. Undefined: no folder is suitable. */
export async function cacheDirectory(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of candidates(env)) if (await isPrivateFolder(folder)) return folder;
  return undefined;
}

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
async function unpackedServer({ env, note }: UnpackOptions): Promise<RedisServerProgram | Refusal> {
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

export interface FindOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Prints a line of text for the user before a slow step. */
  readonly note: (text: string) => void;
}

const NAMES = ['redis-server', 'valkey-server'];

/**
 * Finds a Redis server program on the PATH, or unpacks the Debian package into the user's cache. Rejects with a message
 * that lists each failed attempt and how to install Redis.
 */
export async function findRedisServer({ env, note }: FindOptions): Promise<RedisServerProgram> {
  const refusals: string[] = [];
  const accept = (found: RedisServerProgram | Refusal): RedisServerProgram | undefined => {
    if (!('refused' in found)) return found;
    refusals.push(found.refused);
    return undefined;
  };
  for (const command of await programsOnPath(env)) {
    const usable = accept(await tryServer(command, env));
    if (usable) return usable;
  }
  if (refusals.length === 0) refusals.push('neither redis-server nor valkey-server is on the PATH');
  const unpacked = accept(await unpackedServer({ env, note }));
  if (unpacked) return unpacked;
  throw nothingFound(refusals);
}

/** The server programs in the order of the PATH. Every Redis comes before every Valkey. */
async function programsOnPath(env: NodeJS.ProcessEnv): Promise<string[]> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found: string[] = [];
  for (const file of NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))) {
    const executable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (executable) found.push(file);
  }
  return found;
}

function nothingFound(refusals: readonly string[]): Error {
  return new Error(
    [
      `No Redis ${OLDEST_REDIS} or newer was found, and none could be downloaded:`,
      ...refusals.map((refused) => `  - ${refused}`),
      'Do one of the following, then start again:',
      '  - install redis-server or valkey-server, so that it is on the PATH:',
      '      Debian, Ubuntu: apt-get install redis-server     Fedora: dnf install valkey',
      '      Alpine: apk add redis                            macOS: brew install redis',
      '  - or run your own Redis and set HOLDFAST_REDIS_URL, for example to redis://127.0.0.1:6379',
    ].join('\n'),
  );
}
