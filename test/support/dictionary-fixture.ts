import { Autocomplete } from '../../src/engine/autocomplete/autocomplete';
import { systemClock } from '../../src/engine/clock';
import { systemIdentities } from '../../src/engine/identities';
import type { FoldedEntry } from '../../src/engine/autocomplete/dictionary-store';
import { packForms } from '../../src/engine/autocomplete/match';
import type { Entry } from '../../src/engine/autocomplete/suggestion';
import { dictionarySuggest } from '../../generated/redis/scripts';
import { RedisConnection } from '../../src/redis/connection/connection';
import { script } from '../../src/redis/connection/operation';
import { RedisDictionaryStore } from '../../src/redis/autocomplete/dictionary-store';
import { dictionaryKey } from '../../src/redis/keys';
import { RedisRecentsStore } from '../../src/redis/autocomplete/recents-store';
import { cutAfter, withoutClock } from './dictionary-budgets';
import { checkDictionary, type CheckOptions } from './dictionary-checker';
import { RedisProcess, type RedisProcessOptions } from './processes/redis-process';

const PREFIX = 'test';
const COMMAND_TIMEOUT_MS = 5000;
/** The work that a suggest script may always do (LEAST_WORK in shared/matching.lua). */
const LEAST_WORK = 700;

const hurry = (text: string) =>
  text === dictionarySuggest ? cutAfter(text, LEAST_WORK) : withoutClock(text);

/** A connection that replaces the text of every dictionary script. */
async function connect(url: string, change: (text: string) => string): Promise<RedisConnection> {
  const connection = new RedisConnection({
    endpoint: url,
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    clock: systemClock,
    onError: () => undefined,
  });
  const { commands } = connection;
  const runRaw = commands.runRaw.bind(commands);
  commands.runRaw = ({ text }, ...rest) => runRaw(script(change(text)), ...rest);
  await connection.ready(5000);
  return connection;
}

/** An entry. All other fields are empty by default. */
export function entry(entryId: string, text: string, rest: Partial<Entry> = {}): Entry {
  return { entryId, text, aliases: [], weight: 0, payload: new Uint8Array(), ...rest };
}

/** An entry in the store's form. The caller must fold the text. */
export function foldedEntry(entryId: string, text: string, rest: Partial<Entry> = {}): FoldedEntry {
  return { ...entry(entryId, text, rest), folded: packForms([text, ...(rest.aliases ?? [])]) };
}

/** An entry of 17 texts with many words. Its about 10,000 records are more than a single script writes. */
export function giantEntry(entryId: string): FoldedEntry {
  const text = (n: number) =>
    Array.from({ length: 128 }, (_, i) => `${(i * 7 + n) % 10}${(i * 13) % 10}x `).join('');
  const [own = '', ...aliases] = Array.from({ length: 17 }, (_, i) => text(i));
  return foldedEntry(entryId, own, { aliases });
}

/** The arguments of dictionary-write for one entry. */
export function putArgs({ entryId, text, folded }: FoldedEntry): string[] {
  return ['put', entryId, text, folded, '0', '', ''];
}

/**
 * A private Redis with an autocomplete engine, and access to the stored keys. The scripts have no clock, so that
 * results do not depend on the load of the machine.
 */
export class DictionaryFixture {
  private names = 0;

  private constructor(
    readonly redis: RedisProcess,
    private readonly connections: readonly RedisConnection[],
    readonly store: RedisDictionaryStore,
    readonly engine: Autocomplete,
    /** An engine over the same dictionaries that cuts every query short as early as possible. */
    readonly hurriedEngine: Autocomplete,
    /** Errors that no call could report. */
    readonly defects: readonly unknown[],
  ) {}

  static async open(options: RedisProcessOptions = {}): Promise<DictionaryFixture> {
    const redis = await RedisProcess.start({ appendfsync: 'no', ...options });
    const defects: unknown[] = [];
    const [calm, hurried] = [await connect(redis.url, withoutClock), await connect(redis.url, hurry)];
    const store = new RedisDictionaryStore({ commands: calm.commands, replica: undefined, prefix: PREFIX });
    const hurriedStore = new RedisDictionaryStore({
      commands: hurried.commands,
      replica: undefined,
      prefix: PREFIX,
    });
    const engineOf = (dictionaries: RedisDictionaryStore, { commands }: RedisConnection) =>
      new Autocomplete({
        dictionaries,
        recents: new RedisRecentsStore({
          commands,
          prefix: PREFIX,
          retentionMs: undefined,
          commandTimeoutMs: COMMAND_TIMEOUT_MS,
        }),
        clock: systemClock,
        identities: systemIdentities,
        onDefect: (error) => void defects.push(error),
      });
    const engine = engineOf(store, calm);
    return new DictionaryFixture(
      redis,
      [calm, hurried],
      store,
      engine,
      engineOf(hurriedStore, hurried),
      defects,
    );
  }

  async close(): Promise<void> {
    this.engine.drain();
    this.hurriedEngine.drain();
    for (const connection of this.connections) connection.close();
    await this.redis.close();
  }

  /** The name of a dictionary that no other test uses. */
  name(): string {
    this.names += 1;
    return `dictionary ${this.names}`;
  }

  key(name: string): string {
    return dictionaryKey(PREFIX, name);
  }

  /** Runs a script on a dictionary once, without a clock, and returns its reply. */
  async run(lua: string, name: string, ...args: string[]): Promise<unknown[]> {
    return (await this.redis.command('EVAL', withoutClock(lua), 1, this.key(name), ...args)) as unknown[];
  }

  /** A field of the dictionary's hash `meta`. */
  async meta(name: string, field: string): Promise<unknown> {
    return this.redis.command('HGET', this.key(name), field);
  }

  partKey(name: string, part: string, generation: unknown): string {
    return this.key(name).replace(':meta:', () => `:${part}:${String(generation)}:`);
  }

  /** Sets the last call of an import to a time in the past. */
  async silenceImport(name: string, importId: string, seconds: number): Promise<void> {
    const state = this.partKey(name, 'state', await this.meta(name, `build:${importId}`));
    await this.redis.command('HINCRBY', state, 'heard', -seconds * 1_000_000);
  }

  /** The violations that the checker finds. */
  check(name: string, options?: CheckOptions): Promise<string[]> {
    return checkDictionary({ url: this.redis.url, prefix: PREFIX, name }, options);
  }

  /** Finishes all unfinished steps, and then checks. */
  async checkAtRest(name: string): Promise<string[]> {
    while ((await this.store.sweep(name)) === 'more');
    return this.check(name);
  }
}
