import type { Redis } from 'ioredis';

/** Redis 7 knows the script flags by which renewing works when memory is full. */
const OLDEST_VERSION = 7;

export interface Dangers {
  /** Sentences for the log and GetServerInfo. */
  readonly warnings: readonly string[];
  /** Leases will be lost in ordinary operation, not only when something breaks. */
  readonly unsuitable: boolean;
}

/**
 * What in a Redis's configuration can lose leases. What cannot be read (a managed Redis may refuse CONFIG)
 * counts as unsafe.
 */
export async function findDangers(client: Redis): Promise<Dangers> {
  const info = parseInfo(await client.info());
  const warnings: string[] = [];
  let unsuitable = false;
  const refuse = (sentence: string) => {
    warnings.push(sentence);
    unsuitable = true;
  };
  const version = info.get('redis_version') ?? 'unknown';
  if (!(parseInt(version, 10) >= OLDEST_VERSION)) {
    refuse(`store version ${version} is older than ${OLDEST_VERSION}.0, which is needed`);
  }
  if (info.get('role') !== 'master') refuse('the store is a replica: nothing can be granted through it');

  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    refuse(`maxmemory-policy ${policy} evicts leases when memory is short: set it to noeviction`);
  }
  if (info.get('aof_enabled') !== '1') {
    warnings.push('appendonly is off: a restart of the store forgets leases');
    return { warnings, unsuitable };
  }
  const fsync = await appendFsync(client);
  if (fsync !== 'always') {
    warnings.push(
      `appendfsync is ${fsync ?? 'not readable'}: a crash of the store's machine can forget the last leases; set it to always`,
    );
  }
  return { warnings, unsuitable };
}

async function appendFsync(client: Redis): Promise<string | undefined> {
  try {
    const [, value] = await client.config('GET', 'appendfsync');
    return value;
  } catch {
    return undefined;
  }
}

function parseInfo(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}
