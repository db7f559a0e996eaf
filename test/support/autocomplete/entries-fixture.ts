import { systemClock } from '../../../src/base/clock';
import { readBucketEntries } from '../../../src/autocomplete/bucket-entries';
import type { BucketsRead, EntryStore, Gap, Head, StoredEntry } from '../../../src/autocomplete/entry-store';
import { entryScripts } from '../../../src/autocomplete/redis/entry-replies';
import { RedisEntryStore } from '../../../src/autocomplete/redis/redis-entry-store';
import { pack } from '../../../src/autocomplete/redis/packing';
import type { Commands } from '../../../src/redis/commands';
import { RedisConnection } from '../../../src/redis/connection';
import { entriesKey } from '../../../src/autocomplete/redis/entry-keys';
import { EntriesChecker } from './entries-checker';
import { RedisProcess, type RedisProcessOptions } from '../processes/redis-process';

export const PREFIX = 'test';
export const PROFILE = { accents: 'kept', typos: true } as const;
/** A time by Redis's clock that no test reaches, and no earlier send: the time arguments of a script. */
export const IN_TIME = ['9007199254740991', '0'] as const;
const COMMAND_TIMEOUT_MS = 5000;

/** The entries of a dictionary by id: record and number of selections. */
export type Content = Record<string, readonly [record: string, selectionCount: number]>;

export function stored(entryId: string, record = `record of ${entryId}`): StoredEntry {
  return { entryId, record: Buffer.from(record) };
}

/** Entries with the ids `from`, `from + 1` and so on. */
export function storedMany(count: number, from = 0, record = 'record'): StoredEntry[] {
  return Array.from({ length: count }, (_, i) => stored(`id ${from + i}`, `${record} ${from + i}`));
}

/** A private Redis with two entry stores, as of two servers. */
export class EntriesFixture {
  private names = 0;
  readonly checker: EntriesChecker;

  private constructor(
    readonly redis: RedisProcess,
    private readonly connections: readonly RedisConnection[],
    readonly store: RedisEntryStore,
    readonly other: RedisEntryStore,
  ) {
    this.checker = new EntriesChecker(redis.adminUrl, PREFIX);
  }

  static async open(options: RedisProcessOptions = {}): Promise<EntriesFixture> {
    const redis = await RedisProcess.start({ appendfsync: 'no', ...options });
    const connections = await Promise.all([connect(redis.url), connect(redis.url)]);
    const [store, other] = connections.map(({ commands }) => storeOf(commands));
    return new EntriesFixture(redis, connections, store as RedisEntryStore, other as RedisEntryStore);
  }

  get commands(): Commands {
    return (this.connections[0] as RedisConnection).commands;
  }

  async close(): Promise<void> {
    this.checker.close();
    for (const connection of this.connections) connection.close();
    await this.redis.close();
  }

  /** The name of a dictionary that no other test uses. */
  name(): string {
    this.names += 1;
    return `dictionary ${this.names}`;
  }

  /** A new dictionary with entries. */
  async dictionary(entries: readonly StoredEntry[] = []): Promise<string> {
    const name = this.name();
    await this.store.create(name, PROFILE);
    if (entries.length > 0) await this.store.put(name, entries);
    return name;
  }

  key(name: string): string {
    return entriesKey(PREFIX, name);
  }

  partKey(name: string, part: string, ...ids: (string | number)[]): string {
    return [this.key(name).replace(/meta:.*$/s, part), ...ids].join(':');
  }

  /** Runs a script once and returns its reply. */
  async run(lua: string, name: string, ...args: (string | number | Buffer)[]): Promise<unknown[]> {
    return (await this.redis.command('EVAL', lua, 1, this.key(name), ...args)) as unknown[];
  }

  async meta(name: string, field: string): Promise<string | null> {
    return (await this.redis.command('HGET', this.key(name), field)) as string | null;
  }

  async head(name: string): Promise<Head> {
    const head = await this.store.head(name);
    if (head.kind !== 'head') throw new Error(`the dictionary has no head: ${head.kind}`);
    return head;
  }

  async content(name: string): Promise<Content> {
    return loadedContent(this.store, name);
  }

  /** Restores the state of the last put before its chunks from `next` on were written to the buckets. */
  async makePending(name: string, chunkCount: number, next: number): Promise<void> {
    const read = "local _, h = cmsgpack.unpack_one(redis.call('LINDEX', KEYS[1], -1)) return { h[1], h[2] }";
    const feed = this.partKey(name, 'feed', String(await this.meta(name, 'live')));
    const [before, id] = (await this.redis.command('EVAL', read, 1, feed)) as [string, string];
    await this.redis.command('HSET', this.key(name), 'pending', pack([id, chunkCount, next, before]));
  }

  /** Does all remaining work, and then returns the violations that the checker finds. */
  async checkAtRest(name: string): Promise<string[]> {
    while ((await this.store.sweep(name)) === 'more');
    return this.checker.check(name);
  }
}

export function storeOf(commands: Commands): RedisEntryStore {
  return new RedisEntryStore({ commands, replica: undefined, prefix: PREFIX, clock: systemClock });
}

export async function connect(url: string, commandTimeoutMs = COMMAND_TIMEOUT_MS): Promise<RedisConnection> {
  const connection = new RedisConnection({
    endpoint: url,
    commandTimeoutMs,
    scripts: entryScripts,
    clock: systemClock,
    onError: () => undefined,
  });
  await connection.ready(COMMAND_TIMEOUT_MS);
  return connection;
}

/** Loads a dictionary as a server does: all buckets, and then all writes since the start of the load. */
export async function loadedContent(
  store: EntryStore,
  name: string,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Content> {
  const start = await store.startLoad(name, 'primary');
  if (start.kind !== 'start') throw new Error(`the load did not start: ${start.kind}`);
  const content = new Map<string, [string, number]>();
  const { generationId } = start.head;
  addBuckets(content, start);
  for (let { next, bucketCount } = start; next < bucketCount;) {
    await between();
    const read = await store.readBuckets(name, generationId, next, 'primary');
    if (read.kind === 'gap') throw new Error('the generation was removed');
    addBuckets(content, read);
    ({ next, bucketCount } = read);
  }
  await between();
  await follow(store, name, content, { generationId, version: start.version, tail: start.tail });
  return Object.fromEntries([...content].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The entries of some buckets. */
export function contentOf(read: BucketsRead | Gap): Content {
  if (read.kind === 'gap') throw new Error('the generation was removed');
  const content = new Map<string, [string, number]>();
  addBuckets(content, read);
  return Object.fromEntries(content);
}

function addBuckets(content: Map<string, [string, number]>, { packed }: Pick<BucketsRead, 'packed'>): void {
  readBucketEntries(packed, ({ bytes, idStart, idEnd, recordStart, recordEnd, selectionCount }) => {
    content.set(bytes.toString('utf8', idStart, idEnd), [
      bytes.toString('utf8', recordStart, recordEnd),
      selectionCount,
    ]);
  });
}

async function follow(
  store: EntryStore,
  name: string,
  content: Map<string, [string, number]>,
  start: { generationId: string; version: number; tail: string },
): Promise<void> {
  let at = start;
  for (;;) {
    const read = await store.writesAfter(name, at);
    if (read.kind !== 'writes') throw new Error(`the writes cannot be followed: ${read.kind}`);
    for (const write of read.writes) {
      if (write.before !== at.tail || write.version !== at.version + 1)
        throw new Error('the writes do not chain');
      at = { ...at, version: write.version, tail: write.tail };
      for (const change of write.changes) {
        const known = content.get(change.entryId);
        if (change.kind === 'put') content.set(change.entryId, [String(change.record), known?.[1] ?? 0]);
        else if (change.kind === 'delete') content.delete(change.entryId);
        else if (known) known[1] = change.selectionCount;
      }
    }
    if (at.version === read.head.version && at.tail === read.head.tail) return;
    if (read.writes.length > 0) continue;
    at = { ...at, generationId: read.head.generationId };
  }
}
