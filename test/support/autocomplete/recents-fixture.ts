import { systemClock } from '../../../src/base/clock';
import type { Recent } from '../../../src/autocomplete/suggestion';
import { RedisConnection } from '../../../src/redis/connection';
import { recentsKey } from '../../../src/autocomplete/redis/entry-keys';
import { RedisRecentsStore } from '../../../src/autocomplete/redis/redis-recents';
import { RedisProcess } from '../processes/redis-process';

const PREFIX = 'test';
const RETENTION_MS = 3_600_000;

/** A recent. The entry id and the payload are empty by default. */
export function recent(
  text: string,
  { entryId = '', payload = '' }: { entryId?: string; payload?: string | Uint8Array } = {},
): Recent {
  return { text, entryId, payload: new Uint8Array(Buffer.from(payload)) };
}

export interface RecentsStoreSetting {
  readonly url?: string;
  /** The retention of lists. If undefined, lists never expire. Default: one hour. */
  readonly retentionMs?: number | undefined;
}

/** A private Redis with stores of recents, and access to their keys. */
export class RecentsFixture {
  private readonly connections: RedisConnection[] = [];
  private names = 0;

  private constructor(readonly redis: RedisProcess) {}

  static async open(): Promise<RecentsFixture> {
    return new RecentsFixture(await RedisProcess.start({ appendfsync: 'no' }));
  }

  async close(): Promise<void> {
    for (const connection of this.connections) connection.close();
    await this.redis.close();
  }

  async store(setting: RecentsStoreSetting = {}): Promise<RedisRecentsStore> {
    const { url, retentionMs } = { url: this.redis.url, retentionMs: RETENTION_MS, ...setting };
    const connection = new RedisConnection({
      endpoint: url,
      commandTimeoutMs: 2000,
      clock: systemClock,
      onError: () => undefined,
    });
    this.connections.push(connection);
    await connection.ready(5000);
    const { commands } = connection;
    return new RedisRecentsStore({ commands, prefix: PREFIX, retentionMs, commandTimeoutMs: 2000 });
  }

  /** The name of a list that no other test uses. */
  list(): string {
    this.names += 1;
    return `list ${this.names}`;
  }

  key(list: string): string {
    return recentsKey(PREFIX, list);
  }

  /** The texts of a list, the latest first. */
  async texts(store: RedisRecentsStore, list: string): Promise<string[]> {
    return (await store.read(list)).map(({ text }) => text);
  }
}

/** The recents with payloads as plain Uint8Arrays, for comparison. */
export function plain(recents: readonly Recent[]): Recent[] {
  return recents.map((one) => ({ ...one, payload: new Uint8Array(one.payload) }));
}
