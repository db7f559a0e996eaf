import { Autocomplete, type NameReader } from '../../../src/autocomplete/autocomplete';
import type { StoredEntry } from '../../../src/autocomplete/entry-store';
import type { LayerLimits } from '../../../src/autocomplete/loaded/copy';
import { type LoadedDictionaries, openIndexes } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import { packRecord } from '../../../src/autocomplete/record';
import { RedisEntryStore } from '../../../src/autocomplete/redis/redis-entry-store';
import { RedisRecentsStore } from '../../../src/autocomplete/redis/redis-recents';
import type {
  AskedView,
  Entry,
  ListedEntry,
  Suggestion,
  SuggestPage,
  SuggestRequest,
} from '../../../src/autocomplete/suggestion';
import { systemClock } from '../../../src/base/clock';
import { systemIdentities } from '../../../src/base/runtime';
import { EVERY_NAME } from '../../../src/base/names';
import { entriesKey } from '../../../src/autocomplete/redis/entry-keys';
import type { RedisConnection } from '../../../src/redis/connection';
import { type CheckOptions, EntriesChecker } from './entries-checker';
import { connect, PREFIX } from './entries-fixture';
import { eventually } from '../eventually';
import { RedisProcess, type RedisProcessOptions } from '../processes/redis-process';
import type { Expected } from './dictionary-model';

/** The caller of a server without authentication. */
export const ANYBODY: NameReader = { identity: '', cancelled: false, ...EVERY_NAME };

const COMMAND_TIMEOUT_MS = 5000;
const MEMORY_BYTES = 256 * 2 ** 20;

/** A query that waits for a load, and gets every change that ended before the query. */
export const NOW: AskedView = { maxStalenessMs: 0, patienceMs: 60_000, caller: undefined };

/** An entry. All other fields are empty by default. */
export function entry(entryId: string, text: string, rest: Partial<Entry> = {}): Entry {
  return { entryId, text, aliases: [], weight: 0, payload: new Uint8Array(), ...rest };
}

/** Entries as the engine takes them from the transport. */
export function storedOf(...entries: readonly Entry[]): StoredEntry[] {
  return entries.map((one) => ({ entryId: one.entryId, record: packRecord(one) }));
}

/** Default: each server has the limits of a real server. */
export interface DictionaryServerOptions {
  readonly layerLimits?: LayerLimits;
  readonly memoryBytes?: number;
}

export interface DictionaryFixtureOptions extends RedisProcessOptions, DictionaryServerOptions {}

/** The autocomplete of one server: its store, its indexes and its engine. */
export class DictionaryServer {
  /** Errors that no call could report. */
  readonly defects: unknown[] = [];
  readonly store: RedisEntryStore;
  readonly indexes: LoadedDictionaries;
  readonly engine: Autocomplete;

  private constructor(
    readonly connection: RedisConnection,
    { layerLimits, memoryBytes = MEMORY_BYTES }: DictionaryServerOptions,
  ) {
    const { commands } = connection;
    const onDefect = (error: unknown) => void this.defects.push(error);
    this.store = new RedisEntryStore({ commands, replica: undefined, prefix: PREFIX, clock: systemClock });
    this.indexes = openIndexes({
      store: this.store,
      budgetBytes: memoryBytes,
      coreCount: 2,
      clock: systemClock,
      onDefect,
      onWarning: onDefect,
      ...(layerLimits && { layerLimits }),
    });
    this.engine = new Autocomplete({
      entries: this.store,
      indexes: this.indexes,
      recents: new RedisRecentsStore({
        commands,
        prefix: PREFIX,
        retentionMs: undefined,
        commandTimeoutMs: COMMAND_TIMEOUT_MS,
      }),
      clock: systemClock,
      identities: systemIdentities,
      onDefect,
    });
  }

  static async open(
    url: string,
    options: DictionaryServerOptions & { readonly commandTimeoutMs?: number } = {},
  ): Promise<DictionaryServer> {
    return new DictionaryServer(await connect(url, options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS), options);
  }

  /** Closes all, and waits until no index and no build has memory. */
  async close(): Promise<void> {
    this.engine.drain();
    this.indexes.close();
    this.connection.close();
    await eventually('no memory in use', () => this.indexes.usedBytes === 0);
  }
}

/** A private Redis with two servers, and access to the stored keys. */
export class DictionaryFixture {
  private names = 0;
  private readonly checker: EntriesChecker;

  private constructor(
    readonly redis: RedisProcess,
    readonly server: DictionaryServer,
    readonly other: DictionaryServer,
  ) {
    this.checker = new EntriesChecker(redis.adminUrl, PREFIX);
  }

  static async open(options: DictionaryFixtureOptions = {}): Promise<DictionaryFixture> {
    const redis = await RedisProcess.start({ appendfsync: 'no', ...options });
    const open = () => DictionaryServer.open(redis.url, options);
    return new DictionaryFixture(redis, await open(), await open());
  }

  get servers(): readonly [DictionaryServer, DictionaryServer] {
    return [this.server, this.other];
  }

  get engine(): Autocomplete {
    return this.server.engine;
  }

  get otherEngine(): Autocomplete {
    return this.other.engine;
  }

  get store(): RedisEntryStore {
    return this.server.store;
  }

  /** Errors that no call could report. */
  get defects(): readonly unknown[] {
    return this.servers.flatMap(({ defects }) => defects);
  }

  async close(): Promise<void> {
    this.checker.close();
    await Promise.all(this.servers.map((server) => server.close()));
    await this.redis.close();
  }

  /** The name of a dictionary that no other test uses. */
  name(): string {
    this.names += 1;
    return `dictionary ${this.names}`;
  }

  key(name: string): string {
    return entriesKey(PREFIX, name);
  }

  /** The violations that the checker finds. */
  check(name: string, options?: CheckOptions): Promise<string[]> {
    return this.checker.check(name, options);
  }

  /** Finishes all unfinished steps, and then checks. */
  async checkAtRest(name: string): Promise<string[]> {
    while ((await this.store.sweep(name)) === 'more');
    return this.check(name);
  }
}

/** More pages than every answer has. Longer paging is a defect. */
const MOST_PAGES = 100_000;

/** The engine that answers a page, by the number of the page from 0. */
export type EngineOfPage = (page: number) => Autocomplete;

export type Asked = Partial<SuggestRequest> & Pick<SuggestRequest, 'dictionary' | 'query'>;

/** One page, the first page by default. */
export function pageOf(engine: Autocomplete, asked: Asked): Promise<SuggestPage> {
  const request = { kinds: [], pageSize: 10, pageToken: '', recentsList: '', asked: NOW, ...asked };
  return engine.suggest(request);
}

/** All matches of all pages. `between` runs after each page except the last page. */
export async function allPages(
  engineOf: EngineOfPage,
  asked: Asked,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<Suggestion[]> {
  const found: Suggestion[] = [];
  let pageToken = '';
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await pageOf(engineOf(pages), { ...asked, pageToken });
    if (page.suggestions.length > (asked.pageSize ?? 10)) throw new Error('the page is too large');
    found.push(...page.suggestions);
    if (page.nextPageToken === '') return found;
    pageToken = page.nextPageToken;
    await between();
  }
  throw new Error('the pages do not end');
}

export async function allListed(
  engineOf: EngineOfPage,
  asked: { dictionary: string; from?: string; to?: string; pageSize?: number },
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<ListedEntry[]> {
  const found: ListedEntry[] = [];
  let pageToken = '';
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await engineOf(pages).listEntries({
      from: '',
      to: '',
      pageSize: 50,
      asked: NOW,
      ...asked,
      pageToken,
    });
    if (page.entries.length > (asked.pageSize ?? 50)) throw new Error('the page is too large');
    found.push(...page.entries);
    if (page.nextPageToken === '') return found;
    pageToken = page.nextPageToken;
    await between();
  }
  throw new Error('the pages do not end');
}

/** The fields of a suggestion that the model also has. */
export function asExpected({ kind, entryId, text, recent, score }: Suggestion): Expected {
  return { kind, entryId, text, recent, score: recent ? undefined : score };
}
