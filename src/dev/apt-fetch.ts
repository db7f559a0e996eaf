import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { packagesToUnpack, parseDepends } from './debian-depends';
import { runCommand, type CommandResult } from './run-command';

/** Packages that belong together, the one that counts first. */
export type PackageSet = readonly [string, ...string[]];

const QUERY_TIMEOUT_MS = 30_000;
const FETCH_TIMEOUT_MS = 120_000;

/** How apt is called: with the machine's package lists, or with lists of our own in a scratch folder. */
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

/** The packages of the first set that these lists know; empty when they know none. */
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

function lastWords(result: CommandResult): string {
  const lines = result.stderr.split('\n').filter((line) => /^E:/.test(line));
  return (
    (lines.length > 0 ? lines.join('; ') : result.stderr.trim().slice(-300)) || `exit code ${result.code}`
  );
}

/** Downloads and unpacks into `target`; answers why not, or undefined when all went well. */
async function fetchWith(
  apt: Apt,
  sets: readonly PackageSet[],
  scratch: string,
  target: string,
): Promise<string | undefined> {
  const names = await resolvePackages(apt, sets);
  if (names.length === 0) {
    return `the machine's package lists do not know ${sets.map(([first]) => first).join(', nor ')}`;
  }
  const folder = join(scratch, `packages-${randomUUID()}`);
  await mkdir(folder, { recursive: true });
  const download = await runCommand('apt-get', [...apt.options, 'download', ...names], {
    cwd: folder,
    env: apt.env,
    timeoutMs: FETCH_TIMEOUT_MS,
  });
  if (download.code !== 0) return `apt-get download: ${lastWords(download)}`;
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.deb')) continue;
    const unpack = await runCommand('dpkg', ['-x', join(folder, file), target], {
      env: apt.env,
      timeoutMs: QUERY_TIMEOUT_MS,
    });
    if (unpack.code !== 0) return `dpkg -x ${file}: ${lastWords(unpack)}`;
  }
  return undefined;
}

/** Package lists of our own, for where the machine's are empty, out of date or not readable by this user. */
async function updatedLists(
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
  // No reason to give up: it may be another source of the machine that is out of reach. The lists will show.
  const complaint = /^[EW]: (.+)$/m.exec(update.stderr)?.[1];
  return { apt: { options, env }, problem: complaint && `apt-get update: ${complaint}` };
}

/**
 * Unpacks the first of the sets that the machine's package lists know, with the libraries it lacks, into `target`,
 * and if that fails by fresh lists. Needs no root; whatever lies in `scratch` afterwards can go. Answers why not, or
 * undefined.
 */
export async function fetchPackages(
  sets: readonly PackageSet[],
  env: NodeJS.ProcessEnv,
  scratch: string,
  target: string,
): Promise<string | undefined> {
  // What apt-cache says is read here, so it must not be said in the user's language.
  const plain = { ...env, LC_ALL: 'C' };
  const first = await fetchWith(
    { options: ['-o', 'APT::Sandbox::User=root'], env: plain },
    sets,
    scratch,
    target,
  );
  if (first === undefined) return undefined;
  await rm(target, { recursive: true, force: true });
  const { apt, problem } = await updatedLists(plain, scratch);
  const second = await fetchWith(apt, sets, scratch, target);
  return second === undefined ? undefined : (problem ?? second);
}
