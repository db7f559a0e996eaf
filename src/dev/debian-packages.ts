import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type CommandResult,
  type RedisServerProgram,
  type Refusal,
  runCommand,
  tryServer,
} from './run-command';

/**
 * Finds the packages that a program needs, in the output of `apt-cache depends --recurse`. A fixed list of packages is
 * not possible, because the names of library packages differ between Debian releases (libhiredis0.14, libhiredis1.1.0).
 */

/** One dependency. Any package of the list satisfies the dependency. */
type Alternatives = readonly string[];

/**
 * Parses the lines of the example below. A `|` marks the next line as an alternative. A deeper indentation marks a
 * package that provides the package above. `<name>` is a virtual package.
 *
 *     redis-server
 *       Depends: redis-tools
 *      |Depends: lsb-base
 *       Depends: sysvinit-utils
 */
function parseDepends(text: string): ReadonlyMap<string, readonly Alternatives[]> {
  const packages = new Map<string, Alternatives[]>();
  let current: Alternatives[] = [];
  let open: string[] = [];
  for (const line of text.split('\n')) {
    const depends = /^ ([ |])(?:Pre)?Depends: (.+)$/.exec(line);
    if (depends) {
      open.push(depends[2] ?? '');
      if (depends[1] === '|') continue;
      current.push(open);
      open = [];
    } else if (/^[^ <]/.test(line)) {
      current = packages.get(line) ?? [];
      packages.set(line, current);
      open = [];
    }
  }
  return packages;
}

/** Only libraries are needed to run a program. Packages with system users and init scripts are not needed. */
function isLibrary(name: string): boolean {
  return /^(lib|lua-)/.test(name);
}

/**
 * The packages to unpack: the wanted packages, and each library that they need and that is not installed. A Debian
 * machine always has the C library installed, so the result never contains the C library. A program with another C
 * library would crash, because the machine's loader fits only the installed C library.
 */
function packagesToUnpack(
  wanted: readonly string[],
  depends: ReadonlyMap<string, readonly Alternatives[]>,
  installed: ReadonlySet<string>,
): string[] {
  const chosen = new Set<string>();
  const queue = wanted.filter((name) => depends.has(name));
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    if (chosen.has(name)) continue;
    chosen.add(name);
    for (const alternatives of depends.get(name) ?? []) {
      if (alternatives.some((candidate) => installed.has(candidate) || chosen.has(candidate))) continue;
      const library = alternatives.find((candidate) => isLibrary(candidate) && depends.has(candidate));
      if (library !== undefined) queue.push(library);
    }
  }
  return [...chosen];
}

/** Packages to download together. A package list must contain the first package, but may lack the other packages. */
export type PackageSet = readonly [string, ...string[]];

const QUERY_TIMEOUT_MS = 30_000;
const FETCH_TIMEOUT_MS = 120_000;

/** Options and environment of each apt call. The options select the machine's package lists or newly loaded lists. */
interface Apt {
  readonly options: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

async function installedPackages(env: NodeJS.ProcessEnv): Promise<Set<string>> {
  const query = ['-W', '-f', '${db:Status-Status} ${Package}\n'];
  const { stdout } = await runCommand('dpkg-query', query, { env, timeoutMs: QUERY_TIMEOUT_MS });
  const lines = stdout.split('\n').filter((line) => line.startsWith('installed '));
  return new Set(lines.map((line) => line.slice('installed '.length)));
}

/**
 * `sets` are alternatives, and an earlier set is preferred. Returns the packages to download for the first set that the
 * package lists contain, or an empty list if the package lists contain no set.
 */
async function resolvePackages(apt: Apt, sets: readonly PackageSet[]): Promise<string[]> {
  const installed = await installedPackages(apt.env);
  const kinds = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'];
  for (const wanted of sets) {
    const { stdout } = await runCommand(
      'apt-cache',
      [...apt.options, 'depends', '--recurse', ...kinds.map((kind) => `--no-${kind}`), ...wanted],
      { env: apt.env, timeoutMs: QUERY_TIMEOUT_MS },
    );
    const depends = parseDepends(stdout);
    if (depends.has(wanted[0])) return packagesToUnpack(wanted, depends, installed);
  }
  return [];
}

/** The error lines of apt or dpkg. If there are no such lines: the end of the output, or the exit code. */
function errorText(result: CommandResult): string {
  const lines = result.stderr.split('\n').filter((line) => /^E:/.test(line));
  return (
    (lines.length > 0 ? lines.join('; ') : result.stderr.trim().slice(-300)) || `exit code ${result.code}`
  );
}

/** Downloads the packages and unpacks them into `target`. Returns the reason of a failure; undefined: success. */
async function fetchWith(
  apt: Apt,
  sets: readonly PackageSet[],
  scratch: string,
  target: string,
): Promise<string | undefined> {
  const names = await resolvePackages(apt, sets);
  if (names.length === 0) {
    return `the machine's package lists do not contain ${sets.map(([first]) => first).join(' or ')}`;
  }
  const folder = join(scratch, `packages-${randomUUID()}`);
  await mkdir(folder, { recursive: true });
  const download = await runCommand('apt-get', [...apt.options, 'download', ...names], {
    cwd: folder,
    env: apt.env,
    timeoutMs: FETCH_TIMEOUT_MS,
  });
  if (download.code !== 0) return `apt-get download: ${errorText(download)}`;
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.deb')) continue;
    const unpack = await runCommand('dpkg', ['-x', join(folder, file), target], {
      env: apt.env,
      timeoutMs: QUERY_TIMEOUT_MS,
    });
    if (unpack.code !== 0) return `dpkg -x ${file}: ${errorText(unpack)}`;
  }
  return undefined;
}

/** Downloads new package lists, because the machine's lists may be empty, out of date, or unreadable for this user. */
async function fetchLists(
  env: NodeJS.ProcessEnv,
  scratch: string,
): Promise<{ apt: Apt; problem: string | undefined }> {
  const lists = join(scratch, 'lists');
  const cache = join(scratch, 'cache');
  await mkdir(join(lists, 'partial'), { recursive: true });
  await mkdir(join(cache, 'archives', 'partial'), { recursive: true });
  const options = [
    `Dir::State::Lists=${lists}`,
    `Dir::Cache=${cache}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
    'Acquire::Retries=1',
    'Acquire::http::Timeout=20',
    'Acquire::https::Timeout=20',
  ].flatMap((option) => ['-o', option]);
  const update = await runCommand('apt-get', [...options, '-qq', 'update'], {
    env,
    timeoutMs: FETCH_TIMEOUT_MS,
  });
  // An error is not final, because it may concern a package source that has no Redis.
  const message = /^[EW]: (.+)$/m.exec(update.stderr)?.[1];
  return { apt: { options, env }, problem: message && `apt-get update: ${message}` };
}

/**
 * Downloads the first set of packages that apt's package lists contain, with the libraries that the machine lacks, and
 * unpacks the packages into `target`. After a failure, downloads new package lists and tries a second time. The user
 * need not be root. The caller must remove `scratch`. Returns the reason of a failure; undefined: success.
 */
export async function fetchPackages(
  sets: readonly PackageSet[],
  env: NodeJS.ProcessEnv,
  scratch: string,
  target: string,
): Promise<string | undefined> {
  // The parser of apt-cache's output expects English.
  const english = { ...env, LC_ALL: 'C' };
  const first = await fetchWith(
    { options: ['-o', 'APT::Sandbox::User=root'], env: english },
    sets,
    scratch,
    target,
  );
  if (first === undefined) return undefined;
  await rm(target, { recursive: true, force: true });
  const { apt, problem } = await fetchLists(english, scratch);
  const second = await fetchWith(apt, sets, scratch, target);
  return second === undefined ? undefined : (problem ?? second);
}

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
