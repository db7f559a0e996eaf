import { delimiter, join } from 'node:path';
import { access, constants } from 'node:fs/promises';
import { unpackedServer } from './debian-redis';
import { runCommand } from './run-command';

/** A server program that runs on this machine, and what must be in its environment for that. */
export interface RedisServerProgram {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
  /** "Redis" or "Valkey". */
  readonly product: string;
  readonly version: string;
}

/** Why a program does not do. */
export interface Refusal {
  readonly refused: string;
}

/**
 * The scripts declare `#!lua flags=allow-oom`, so that leases can be renewed and released while Redis is full;
 * script flags came with Redis 7.0. Valkey began at 7.2.
 */
export const OLDEST_REDIS = [7, 0] as const;

const NAMES = ['redis-server', 'valkey-server'];
const VERSION_TIMEOUT_MS = 10_000;

/** Both print one line: "Redis server v=7.0.15 sha=…" or "Valkey server v=8.1.1 sha=…". */
function parseVersion(line: string): { product: string; version: string } | undefined {
  const match = /^(\w+) server v=(\d+\.\d+\.\d+)/.exec(line);
  return match?.[1] !== undefined && match[2] !== undefined
    ? { product: match[1], version: match[2] }
    : undefined;
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor >= OLDEST_REDIS[1]);
}

/** Runs `<command> --version`: the proof that the program and all its libraries are there. */
export async function tryServer(
  command: string,
  env: NodeJS.ProcessEnv,
): Promise<RedisServerProgram | Refusal> {
  const result = await runCommand(command, ['--version'], { env, timeoutMs: VERSION_TIMEOUT_MS });
  if (result.code !== 0) return { refused: `${command} does not run: ${result.stderr.trim()}` };
  const found = parseVersion(result.stdout);
  if (!found) return { refused: `${command} is no Redis: it says "${result.stdout.trim().slice(0, 80)}"` };
  if (!isNewEnough(found.version)) {
    return {
      refused: `${command} is version ${found.version}; at least ${OLDEST_REDIS.join('.')} is needed`,
    };
  }
  return { command, env, ...found };
}

/** The servers on the PATH, in its order, Redis before Valkey. */
async function onPath(env: NodeJS.ProcessEnv): Promise<string[]> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found: string[] = [];
  for (const file of NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))) {
    const runnable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runnable) found.push(file);
  }
  return found;
}

function nothingFound(refusals: readonly string[]): Error {
  return new Error(
    [
      `No Redis ${OLDEST_REDIS.join('.')} or newer was found, and none could be fetched:`,
      ...refusals.map((refused) => `  - ${refused}`),
      'Do one of these and start again:',
      '  - install redis-server or valkey-server, so that it is on the PATH:',
      '      Debian, Ubuntu: apt-get install redis-server     Fedora: dnf install valkey',
      '      Alpine: apk add redis                            macOS: brew install redis',
      '  - or run a Redis of your own and set HOLDFAST_REDIS_URL, for example to redis://127.0.0.1:6379',
    ].join('\n'),
  );
}

export interface FindOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Told what takes a while. */
  readonly note: (text: string) => void;
}

/**
 * Finds a server program: on the PATH, else Debian's package unpacked into the user's cache.
 * Rejects with a message that says what was tried and what to install.
 */
export async function findRedisServer({ env, note }: FindOptions): Promise<RedisServerProgram> {
  const refusals: string[] = [];
  const consider = (found: RedisServerProgram | Refusal): RedisServerProgram | undefined => {
    if (!('refused' in found)) return found;
    refusals.push(found.refused);
    return undefined;
  };
  for (const command of await onPath(env)) {
    const usable = consider(await tryServer(command, env));
    if (usable) return usable;
  }
  if (refusals.length === 0) refusals.push('neither redis-server nor valkey-server is on the PATH');
  const unpacked = consider(await unpackedServer({ env, note, tryServer }));
  if (unpacked) return unpacked;
  throw nothingFound(refusals);
}
