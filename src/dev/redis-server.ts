import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { OLDEST_REDIS } from '../base/redis-version';
import { unpackedServer } from './debian-redis';
import { tryServer, type RedisServerProgram, type Refusal } from './redis-program';

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
