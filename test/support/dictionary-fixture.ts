import { Autocomplete } from '../../src/engine/autocomplete';
import { systemClock } from '../../src/engine/clock';
import { systemIdentities } from '../../src/engine/identities';
import type { Entry } from '../../src/engine/suggestion';
import { RedisConnection } from '../../src/redis/connection';
import { RedisDictionaryStore } from '../../src/redis/dictionary-store';
import { dictionaryKey } from '../../src/redis/keys';
import { RedisRecentsStore } from '../../src/redis/recents-store';
import { checkDictionary, type CheckOptions } from './dictionary-checker';
import { RedisProcess } from './redis-process';

const PREFIX = 'test';

/** An entry with what is said of it; the rest is the least there can be. */
export function entry(entryId: string, text: string, rest: Partial<Entry> = {}): Entry {
  return { entryId, text, aliases: [], weight: 0, payload: new Uint8Array(), ...rest };
}

/** A private Redis with an engine and its stores on it, and hands to look inside. */
export class DictionaryFixture {
  private names = 0;

  private constructor(
    readonly redis: RedisProcess,
    private readonly connection: RedisConnection,
    readonly store: RedisDictionaryStore,
    readonly engine: Autocomplete,
    /** What went wrong where no call waits for it. */
    readonly defects: readonly unknown[],
  ) {}

  static async open(): Promise<DictionaryFixture> {
    const redis = await RedisProcess.start({ appendfsync: 'no' });
    const clock = systemClock;
    const commandTimeoutMs = 5000;
    const connection = new RedisConnection({
      url: redis.url,
      commandTimeoutMs,
      clock,
      onError: () => undefined,
    });
    await connection.ready(5000);
    const store = new RedisDictionaryStore({ connection, replica: undefined, prefix: PREFIX });
    const recents = new RedisRecentsStore({
      connection,
      prefix: PREFIX,
      retentionMs: undefined,
      commandTimeoutMs,
    });
    const defects: unknown[] = [];
    const engine = new Autocomplete({
      dictionaries: store,
      recents,
      clock,
      identities: systemIdentities,
      onDefect: (error) => void defects.push(error),
    });
    return new DictionaryFixture(redis, connection, store, engine, defects);
  }

  async close(): Promise<void> {
    this.engine.drain();
    this.connection.close();
    await this.redis.close();
  }

  /** A name that no other test uses. */
  name(): string {
    this.names += 1;
    return `dictionary ${this.names}`;
  }

  key(name: string): string {
    return dictionaryKey(PREFIX, name);
  }

  /** What the checker finds. */
  check(name: string, options?: CheckOptions): Promise<string[]> {
    return checkDictionary({ url: this.redis.url, prefix: PREFIX, name }, options);
  }

  /** Does what is left to do, and then checks. */
  async checkAtRest(name: string): Promise<string[]> {
    while ((await this.store.sweep(name)) === 'more');
    return this.check(name);
  }
}
