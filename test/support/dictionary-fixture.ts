import { Autocomplete } from '../../src/engine/autocomplete/autocomplete';
import { systemClock } from '../../src/engine/clock';
import { systemIdentities } from '../../src/engine/identities';
import type { FoldedEntry } from '../../src/engine/autocomplete/dictionary-store';
import { packForms } from '../../src/engine/autocomplete/match';
import type { Entry } from '../../src/engine/autocomplete/suggestion';
import { RedisConnection } from '../../src/redis/connection/connection';
import { RedisDictionaryStore } from '../../src/redis/autocomplete/dictionary-store';
import { dictionaryKey } from '../../src/redis/keys';
import { RedisRecentsStore } from '../../src/redis/autocomplete/recents-store';
import { checkDictionary, type CheckOptions } from './dictionary-checker';
import { RedisProcess, type RedisProcessOptions } from './processes/redis-process';

const PREFIX = 'test';

/** An entry with what is said of it; the rest is the least there can be. */
export function entry(entryId: string, text: string, rest: Partial<Entry> = {}): Entry {
  return { entryId, text, aliases: [], weight: 0, payload: new Uint8Array(), ...rest };
}

/** As the store takes it; of a text that is folded already. */
export function foldedEntry(entryId: string, text: string, rest: Partial<Entry> = {}): FoldedEntry {
  return { ...entry(entryId, text, rest), folded: packForms([text, ...(rest.aliases ?? [])]) };
}

/** Seventeen texts of 512 bytes with many words: some ten thousand records, more than any step gets done. */
export function giantEntry(entryId: string): FoldedEntry {
  const text = (n: number) =>
    Array.from({ length: 128 }, (_, i) => `${(i * 7 + n) % 10}${(i * 13) % 10}x `).join('');
  const [own = '', ...aliases] = Array.from({ length: 17 }, (_, i) => text(i));
  return foldedEntry(entryId, own, { aliases });
}

/** As an argument of the script that writes. */
export function putArgs({ entryId, text, folded }: FoldedEntry): string[] {
  return ['put', entryId, text, folded, '0', '', ''];
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

  static async open(options: RedisProcessOptions = {}): Promise<DictionaryFixture> {
    const redis = await RedisProcess.start({ appendfsync: 'no', ...options });
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

  /** One run of a script on a dictionary; what it answers. */
  async run(lua: string, name: string, ...args: string[]): Promise<unknown[]> {
    return (await this.redis.command('EVAL', lua, 1, this.key(name), ...args)) as unknown[];
  }

  /** A field of the dictionary's meta. */
  async meta(name: string, field: string): Promise<unknown> {
    return this.redis.command('HGET', this.key(name), field);
  }

  /** Where a part of a generation is. */
  partKey(name: string, part: string, generation: unknown): string {
    return this.key(name).replace(':meta:', () => `:${part}:${String(generation)}:`);
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
