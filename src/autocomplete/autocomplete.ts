import type { Clock } from '../base/clock';
import { HoldfastError, reportDefect } from '../base/errors';
import type { Identities } from '../base/runtime';
import {
  type Binding,
  decodePageToken,
  encodePageToken,
  firstPlace,
  placeAfter,
  type ReadableNames,
} from '../base/names';
import {
  answerOf,
  dictionaryExists,
  dictionaryText,
  found,
  isMissing,
  missingDictionary,
  readOf,
  recentsText,
  stateAfterChange,
  tooManyImports,
} from './autocomplete-errors';
import type { EntryStore, Missing, RecentsStore } from './entry-store';
import { StoreImport } from './import-session';
import { NO_WRITER, type Writer } from './quota/amount';
import { EntryQuotas } from './quota/quotas';
import { OwnedDictionaries } from './quota/usage';
import { rankRecents, suggestRecents } from './recents';
import { isPageStart, mergePage, rankAfter } from './suggest-page';
import {
  DEFAULT_PROFILE,
  type DictionariesPage,
  type DictionaryIndexes,
  type DictionaryView,
  type EntriesPage,
  type ImportSession,
  type ListPosition,
  type ListRange,
  type MatchKind,
  type Profile,
  type Recent,
  type RecentsQuery,
  type StoredEntry,
  type Suggestion,
  type SuggestPage,
  type SuggestRequest,
} from './suggestion';
import { DictionarySweeper } from './sweeper';

/** The caller of a list. */
export interface NameReader extends ReadableNames {
  /** Empty: this server does not authenticate callers. */
  readonly identity: string;
  /** True: the caller no longer waits for the list. */
  readonly cancelled: boolean;
}

/**
 * The engine's interface for the service, which has checked all fields. A rejection with another error than a
 * HoldfastError is a defect.
 */
export interface AutocompleteEngine {
  /**
   * Puts a recent in front of its list. Replaces the recent with the same entry id, or the same text if there is no id.
   * The list keeps the first `capacity` recents.
   */
  addRecent(list: string, recent: Recent, capacity: number): Promise<void>;
  /** Identifies the recent by its entry id, or by its text if the id is empty. False: the list had no such recent. */
  removeRecent(list: string, which: { readonly entryId: string; readonly text: string }): Promise<boolean>;
  suggestRecents(list: string, query: RecentsQuery): Promise<readonly Suggestion[]>;
  /** Resolves to true if the list existed. */
  deleteRecents(list: string): Promise<boolean>;

  /** The writer owns a new dictionary. */
  createDictionary(name: string, profile: Profile, writer: Writer): Promise<DictionaryView>;
  putEntries(dictionary: string, entries: readonly StoredEntry[], writer: Writer): Promise<void>;
  /** Resolves to the number of deleted entries. */
  deleteEntries(dictionary: string, entryIds: readonly string[]): Promise<number>;
  /**
   * If `profile` is undefined, the dictionary's profile is used, or the default profile for a new dictionary. The writer
   * owns a dictionary that the import creates.
   */
  startImport(dictionary: string, profile: Profile | undefined, writer: Writer): Promise<ImportSession>;
  /** Resolves to the entry's new selection count. Undefined: the dictionary has no such entry. */
  recordSelection(dictionary: string, entryId: string, count: number): Promise<number | undefined>;
  suggest(request: SuggestRequest): Promise<SuggestPage>;
  listEntries(range: ListRange): Promise<EntriesPage>;
  getDictionary(name: string): Promise<DictionaryView>;
  /** Lists the dictionaries that the reader may read. */
  listDictionaries(
    namePrefix: string,
    pageSize: number,
    pageToken: string,
    reader: NameReader,
  ): Promise<DictionariesPage>;
  /** Resolves to true if the dictionary existed. */
  deleteDictionary(name: string): Promise<boolean>;
}

/**
 * Names that the reader may read. The page ends after one of these names, because the page token contains this name,
 * and the reader can decode the token.
 */
async function readableNames(
  store: Pick<EntryStore, 'names'>,
  reader: NameReader,
  prefix: string,
  pageSize: number,
  start: string | undefined,
): Promise<{ readonly names: readonly string[]; readonly next: string | undefined }> {
  const first = firstPlace(reader, prefix);
  let after: string | undefined = start ?? first;
  while (first !== undefined && after !== undefined && !reader.cancelled) {
    const found = await readOf(store.names(prefix, after, pageSize + 1), 'the list of dictionaries');
    const hasMore = found.length > pageSize;
    const examined = found.slice(0, pageSize);
    const names = examined.filter((name) => reader.mayRead(name));
    if (!hasMore) return { names, next: undefined };
    if (names.length > 0) return { names, next: names.at(-1) };
    after = placeAfter(reader, prefix, examined.at(-1) ?? '');
  }
  return { names: [], next: undefined };
}

export interface AutocompleteOptions {
  readonly entries: EntryStore;
  readonly indexes: DictionaryIndexes;
  readonly recents: RecentsStore;
  readonly clock: Clock;
  readonly identities: Identities;
  /** Receives the defects of background work. */
  readonly onDefect: (error: unknown) => void;
}

/** Extra entries that the index ranks for each page, because recents may replace some entries. */
const EXTRA_FOR_RECENTS = 16;

/**
 * The engine of recents and dictionaries. The store keeps entries and recents, the indexes find matching entries, and the
 * engine matches recents and builds pages.
 */
export class Autocomplete implements AutocompleteEngine {
  /** The suggestions in all answers since the start, by the kind of match. */
  readonly suggestedCounts: Record<MatchKind, number> = {
    exact: 0,
    prefix: 0,
    'word-prefix': 0,
    suffix: 0,
    contains: 0,
    typo: 0,
  };
  private readonly sweeper: DictionarySweeper;
  private readonly owned: OwnedDictionaries;
  private readonly quotas: EntryQuotas;

  constructor(private readonly options: AutocompleteOptions) {
    const { entries, clock, identities, onDefect } = options;
    this.sweeper = new DictionarySweeper(entries, clock, identities, onDefect);
    this.owned = new OwnedDictionaries(entries);
    this.quotas = new EntryQuotas(entries, this.owned, clock);
  }

  /** Stops the background work. Calls in flight continue. */
  drain(): void {
    this.sweeper.stop();
  }

  addRecent(list: string, recent: Recent, capacity: number): Promise<void> {
    return answerOf(this.options.recents.add(list, recent, capacity), recentsText(list));
  }

  removeRecent(list: string, which: { readonly entryId: string; readonly text: string }): Promise<boolean> {
    return answerOf(this.options.recents.remove(list, which), recentsText(list));
  }

  async suggestRecents(
    list: string,
    { query, pageSize, kinds }: RecentsQuery,
  ): Promise<readonly Suggestion[]> {
    const recents = await readOf(this.options.recents.read(list), recentsText(list));
    const found = suggestRecents(recents, { query, kinds, accents: 'dropped', typos: true }, pageSize);
    this.count(found);
    return found;
  }

  deleteRecents(list: string): Promise<boolean> {
    return answerOf(this.options.recents.drop(list), recentsText(list));
  }

  async createDictionary(name: string, profile: Profile, writer = NO_WRITER): Promise<DictionaryView> {
    const { entries } = this.options;
    await this.quotas.checkCreation(name, writer);
    // The name is registered first: if this server stopped after the creation and before the registration, no sweeper
    // would find the dictionary.
    await answerOf(this.register(name, writer), dictionaryText(name));
    const created = await answerOf(entries.create(name, profile, writer.identity), dictionaryText(name));
    if (created.kind === 'other-profile') throw dictionaryExists(name, created.profile);
    found(name, created);
    this.examineOwned(writer);
    return stateAfterChange(this.getDictionary(name), dictionaryText(name));
  }

  async putEntries(dictionary: string, entries: readonly StoredEntry[], writer = NO_WRITER): Promise<void> {
    const put = () => answerOf(this.options.entries.put(dictionary, entries), dictionaryText(dictionary));
    found(dictionary, await this.quotas.put(dictionary, writer, entries, put));
  }

  async deleteEntries(dictionary: string, entryIds: readonly string[]): Promise<number> {
    const work = this.options.entries.delete(dictionary, entryIds);
    return found(dictionary, await answerOf(work, dictionaryText(dictionary))).deleted;
  }

  async startImport(
    dictionary: string,
    wanted: Profile | undefined,
    writer = NO_WRITER,
  ): Promise<ImportSession> {
    const { entries, indexes, identities, clock, onDefect } = this.options;
    const importId = identities.requestId();
    const subject = `the import of ${dictionaryText(dictionary)}`;
    const quota = await this.quotas.startImport(dictionary, writer);
    // The name is registered before the start, so that a sweeper finds an unfinished import. The name is registered
    // again after the start, because a sweeper may have removed the name before the start.
    await answerOf(this.register(dictionary, writer), subject);
    const started = await answerOf(
      entries.startImport(dictionary, importId, wanted, DEFAULT_PROFILE, writer.identity),
      subject,
    );
    if (started.kind === 'other-profile') throw dictionaryExists(dictionary, started.profile);
    if (started.kind === 'busy') throw tooManyImports(dictionary);
    found(dictionary, started);
    this.examineOwned(writer);
    const session = new StoreImport({
      store: entries,
      indexes,
      clock,
      name: dictionary,
      importId,
      owner: writer.identity,
      quota,
      view: (name) => this.getDictionary(name),
      sweepSoon: (name) => this.sweeper.sweepSoon(name),
      onDefect,
    });
    try {
      await answerOf(this.register(dictionary, writer), subject);
    } catch (error) {
      await session.abandon();
      throw error;
    }
    return session;
  }

  async recordSelection(dictionary: string, entryId: string, count: number): Promise<number | undefined> {
    const subject = `entry ${JSON.stringify(entryId)} of ${dictionaryText(dictionary)}`;
    const recorded = await answerOf(
      this.options.entries.select(dictionary, entryId, count),
      subject,
      'repeat the call only if a selection counted twice is better than a selection not counted',
    );
    return found(dictionary, recorded).count;
  }

  async suggest(request: SuggestRequest): Promise<SuggestPage> {
    const { dictionary, query, pageSize, kinds, pageToken, recentsList, asked } = request;
    const binding: Binding = ['suggest', dictionary, query, kinds, recentsList];
    const after = decodePageToken(binding, pageToken, isPageStart);
    const limit = pageSize + (recentsList === '' ? 0 : EXTRA_FOR_RECENTS);
    const reading =
      recentsList === '' ? [] : readOf(this.options.recents.read(recentsList), recentsText(recentsList));
    const ranking = this.options.indexes.rank(
      dictionary,
      { query, kinds, limit, after: rankAfter(after) },
      asked,
    );
    const [recents, ranked] = await Promise.all([reading, ranking]);
    const rankedRecents =
      recents.length === 0 ? [] : rankRecents(recents, { query, kinds, ...ranked.profile });
    const page = mergePage(ranked, rankedRecents, after, query, pageSize);
    this.count(page.suggestions);
    return {
      suggestions: page.suggestions,
      nextPageToken: page.next === undefined ? '' : encodePageToken(binding, page.next),
    };
  }

  async listEntries({ dictionary, from, to, pageSize, pageToken, asked }: ListRange): Promise<EntriesPage> {
    const binding: Binding = ['entries', dictionary, from, to];
    const after = decodePageToken(binding, pageToken, isListPosition);
    const { entries, next } = await this.options.indexes.list(
      dictionary,
      { from, to, limit: pageSize, after },
      asked,
    );
    return { entries, nextPageToken: next === undefined ? '' : encodePageToken(binding, next) };
  }

  async getDictionary(name: string): Promise<DictionaryView> {
    return found(name, await this.view(name));
  }

  async listDictionaries(
    namePrefix: string,
    pageSize: number,
    pageToken: string,
    reader: NameReader,
  ): Promise<DictionariesPage> {
    const binding: Binding = ['dictionaries', reader.identity, namePrefix];
    const after = decodePageToken(binding, pageToken, isName);
    const { names, next } = await readableNames(this.options.entries, reader, namePrefix, pageSize, after);
    // A listed dictionary may not exist, because its first import is in progress, or it was deleted just now.
    const dictionaries: DictionaryView[] = [];
    for (const name of names) {
      const view = await this.listed(name);
      if (view) dictionaries.push(view);
    }
    return { dictionaries, nextPageToken: next === undefined ? '' : encodePageToken(binding, next) };
  }

  async deleteDictionary(name: string): Promise<boolean> {
    const { entries, indexes } = this.options;
    const dropped = await answerOf(entries.drop(name), dictionaryText(name));
    if (typeof dropped !== 'boolean') throw missingDictionary(name, dropped);
    indexes.forget(name);
    this.quotas.forget(name);
    this.sweeper.sweepSoon(name);
    return dropped;
  }

  private count(suggestions: readonly Suggestion[]): void {
    for (const { kind } of suggestions) this.suggestedCounts[kind] += 1;
  }

  /** Lists the name of a dictionary that the writer may be about to create. */
  private async register(name: string, { identity }: Writer): Promise<void> {
    const { entries } = this.options;
    await entries.register(name);
    if (identity !== '') await entries.registerOwned(identity, name);
  }

  private examineOwned({ identity }: Writer): void {
    if (identity === '') return;
    this.owned.examineSome(identity).catch((error: unknown) => reportDefect(error, this.options.onDefect));
  }

  /**
   * Undefined: the dictionary does not exist, or Redis has lost a part of it. Such a dictionary must not stop the list
   * of the others.
   */
  private async listed(name: string): Promise<DictionaryView | undefined> {
    try {
      const view = await this.view(name);
      return isMissing(view) ? undefined : view;
    } catch (error) {
      if (error instanceof HoldfastError) throw error;
      this.options.onDefect(error);
      return undefined;
    }
  }

  private async view(name: string): Promise<DictionaryView | Missing> {
    const { entries, indexes } = this.options;
    const stored = await readOf(entries.inspect(name), dictionaryText(name));
    if (isMissing(stored)) return stored;
    const { kind: _, ...view } = stored;
    return { name, ...view, index: indexes.stateOf(name) };
  }
}

function isListPosition(value: unknown): value is ListPosition {
  const { text, entryId } = (value ?? {}) as Partial<ListPosition>;
  return typeof text === 'string' && typeof entryId === 'string';
}

function isName(value: unknown): value is string {
  return typeof value === 'string';
}
