import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { packagesToUnpack, parseDepends } from './debian-depends';
import { runCommand, type CommandResult } from './run-command';

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
