import {
  answerOf,
  dictionaryExists,
  dictionaryText,
  noSuchDictionary,
  recentsText,
  stateAfterChange,
  tooManyImports,
} from './autocomplete-errors';
import type { AutocompleteEngine } from './autocomplete-engine';
import { DEFAULT_PROFILE } from './limits';
import type { Clock } from '../clock';
import type { DictionaryStore, ListPosition, StoredProfile } from './dictionary-store';
import { bothFolded, foldEntry } from './fold-entry';
import { DictionarySweeper } from './dictionary-sweeper';
import type { Identities } from '../identities';
import { StoreImport } from './import-session';
import { markWords } from './match';
import { decodePageToken, encodePageToken, type Binding } from './page-token';
import { rankRecents, suggestRecents } from './recents-ranking';
import type { RecentsStore } from './recents-store';
import { checkFoldVersion, isSameProfile, storedProfile } from './stored-profile';
import { isPageStart, mergePage, rankAfter } from './suggest-page';
import type {
  DictionariesPage,
  DictionaryView,
  EntriesPage,
  Entry,
  ImportSession,
  ListRange,
  Profile,
  Recent,
  RecentsQuery,
  Suggestion,
  SuggestPage,
  SuggestRequest,
} from './suggestion';

export interface AutocompleteOptions {
  readonly dictionaries: DictionaryStore;
  readonly recents: RecentsStore;
  readonly clock: Clock;
  readonly identities: Identities;
  /** Receives the defects of background work. */
  readonly onDefect: (error: unknown) => void;
}

/** Capacity of the profile cache. The store refuses a put with an outdated profile, so the cache needs no expiry. */
const PROFILE_CACHE_CAPACITY = 10_000;
/** Extra entries that the store ranks for each page, because recents may replace some entries. */
const EXTRA_FOR_RECENTS = 16;

/**
 * The engine of recents and dictionaries. The engine folds texts, matches recents and builds pages. The store matches
 * entries.
 */
export class Autocomplete implements AutocompleteEngine {
  private readonly profiles = new Map<string, StoredProfile>();
  private readonly sweeper: DictionarySweeper;

  constructor(private readonly options: AutocompleteOptions) {
    const { dictionaries, clock, identities, onDefect } = options;
    this.sweeper = new DictionarySweeper(dictionaries, clock, identities, onDefect);
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
    const recents = await answerOf(this.options.recents.read(list), recentsText(list));
    return suggestRecents(recents, { query, kinds, accents: 'dropped', typos: true }, pageSize);
  }

  deleteRecents(list: string): Promise<boolean> {
    return answerOf(this.options.recents.drop(list), recentsText(list));
  }

  async createDictionary(name: string, profile: Profile): Promise<DictionaryView> {
    const { dictionaries } = this.options;
    // A creation also registers the name, but this server may stop in between. A sweeper would then miss the dictionary.
    await answerOf(dictionaries.register(name), dictionaryText(name));
    const created = await answerOf(dictionaries.create(name, storedProfile(profile)), dictionaryText(name));
    if (created.kind === 'other-profile') refuseProfile(name, created.profile, profile);
    return stateAfterChange(this.getDictionary(name), dictionaryText(name));
  }

  async putEntries(dictionary: string, entries: readonly Entry[]): Promise<void> {
    const { dictionaries } = this.options;
    let profile = this.profiles.get(dictionary) ?? (await this.getProfile(dictionary));
    for (;;) {
      const folded = entries.map((entry) => foldEntry(entry, profile));
      const written = await answerOf(
        dictionaries.put(dictionary, profile, folded),
        dictionaryText(dictionary),
      );
      if (written.kind === 'ok') return;
      if (written.kind === 'unknown') throw noSuchDictionary(dictionary);
      // The dictionary was created again with another profile.
      profile = this.remember(dictionary, written.profile);
    }
  }

  async deleteEntries(dictionary: string, entryIds: readonly string[]): Promise<number> {
    const { dictionaries } = this.options;
    const deleted = await answerOf(dictionaries.delete(dictionary, entryIds), dictionaryText(dictionary));
    if (deleted.kind === 'unknown') throw noSuchDictionary(dictionary);
    return deleted.deleted;
  }

  async startImport(dictionary: string, wanted: Profile | undefined): Promise<ImportSession> {
    const { dictionaries, identities, clock, onDefect } = this.options;
    const importId = identities.requestId();
    const subject = `the import of ${dictionaryText(dictionary)}`;
    // The name is registered before the start, so that a sweeper finds an unfinished import, and again after the start,
    // because a sweeper may unregister the name in between.
    await answerOf(dictionaries.register(dictionary), subject);
    const started = await answerOf(
      dictionaries.startImport(
        dictionary,
        importId,
        wanted && storedProfile(wanted),
        storedProfile(DEFAULT_PROFILE),
      ),
      subject,
    );
    if (started.kind === 'other-profile') refuseProfile(dictionary, started.profile, wanted);
    if (started.kind === 'busy') throw tooManyImports(dictionary);
    const session = new StoreImport({
      store: dictionaries,
      clock,
      name: dictionary,
      importId,
      profile: started.profile,
      view: (name) => this.view(name),
      sweepSoon: (name) => this.sweeper.sweepSoon(name),
      onDefect,
    });
    try {
      checkFoldVersion(dictionary, started.profile);
      await answerOf(dictionaries.register(dictionary), subject);
    } catch (error) {
      await session.abandon();
      throw error;
    }
    return session;
  }

  async recordSelection(dictionary: string, entryId: string, count: number): Promise<number | undefined> {
    const subject = `entry ${JSON.stringify(entryId)} of ${dictionaryText(dictionary)}`;
    const recorded = await answerOf(
      this.options.dictionaries.select(dictionary, entryId, count),
      subject,
      'repeat the call only if a selection counted twice is better than a selection not counted',
    );
    if (recorded.kind === 'unknown') throw noSuchDictionary(dictionary);
    return recorded.count;
  }

  async suggest(request: SuggestRequest): Promise<SuggestPage> {
    const { dictionary, query, pageSize, kinds, pageToken, recentsList } = request;
    const binding: Binding = ['suggest', dictionary, query, kinds, recentsList];
    const after = decodePageToken(binding, pageToken, isPageStart);
    const folded = bothFolded(query);
    const marked = { kept: markWords(folded.kept), dropped: markWords(folded.dropped) };
    const limit = pageSize + (recentsList === '' ? 0 : EXTRA_FOR_RECENTS);
    const reading =
      recentsList === '' ? [] : answerOf(this.options.recents.read(recentsList), recentsText(recentsList));
    const ranking = answerOf(
      this.options.dictionaries.suggest(dictionary, { query: marked, kinds, limit, after: rankAfter(after) }),
      dictionaryText(dictionary),
    );
    const [recents, ranked] = await Promise.all([reading, ranking]);
    if (ranked.kind === 'unknown') throw noSuchDictionary(dictionary);
    checkFoldVersion(dictionary, ranked.profile);
    const rankedRecents =
      recents.length === 0 ? [] : rankRecents(recents, { query, kinds, ...ranked.profile });
    const page = mergePage(ranked, rankedRecents, after, query, pageSize);
    return {
      suggestions: page.suggestions,
      nextPageToken: page.next === undefined ? '' : encodePageToken(binding, page.next),
      partial: ranked.partial,
    };
  }

  async listEntries({ dictionary, from, to, pageSize, pageToken }: ListRange): Promise<EntriesPage> {
    const binding: Binding = ['entries', dictionary, from, to];
    const after = decodePageToken(binding, pageToken, isListPosition);
    // The bounds must be folded by the rules of the dictionary. Without bounds, a dictionary of any version is listed.
    if ((from !== '' || to !== '') && !this.profiles.has(dictionary)) await this.getProfile(dictionary);
    const range = { from: bothFolded(from), to: bothFolded(to), limit: pageSize, after };
    const listing = await answerOf(
      this.options.dictionaries.list(dictionary, range),
      dictionaryText(dictionary),
    );
    if (listing.kind === 'unknown') throw noSuchDictionary(dictionary);
    return {
      entries: listing.entries,
      nextPageToken: listing.next === undefined ? '' : encodePageToken(binding, listing.next),
    };
  }

  async getDictionary(name: string): Promise<DictionaryView> {
    const view = await this.view(name);
    if (view === undefined) throw noSuchDictionary(name);
    return view;
  }

  async listDictionaries(namePrefix: string, pageSize: number, pageToken: string): Promise<DictionariesPage> {
    const binding: Binding = ['dictionaries', namePrefix];
    const after = decodePageToken(binding, pageToken, isName);
    const reading = this.options.dictionaries.names(namePrefix, after, pageSize + 1);
    const names = await answerOf(reading, 'the list of dictionaries');
    const hasNextPage = names.length > pageSize;
    const shown = names.slice(0, pageSize);
    // A listed dictionary may not exist, because its first import is in progress, or it was deleted just now.
    const dictionaries: DictionaryView[] = [];
    for (const name of shown) {
      const view = await this.view(name);
      if (view !== undefined) dictionaries.push(view);
    }
    return {
      dictionaries,
      nextPageToken: hasNextPage ? encodePageToken(binding, shown[shown.length - 1]) : '',
    };
  }

  async deleteDictionary(name: string): Promise<boolean> {
    const dropped = await answerOf(this.options.dictionaries.drop(name), dictionaryText(name));
    this.profiles.delete(name);
    this.sweeper.sweepSoon(name);
    return dropped;
  }

  private async getProfile(dictionary: string): Promise<StoredProfile> {
    const view = await answerOf(this.options.dictionaries.inspect(dictionary), dictionaryText(dictionary));
    if (view.kind === 'unknown') throw noSuchDictionary(dictionary);
    return this.remember(dictionary, view.profile);
  }

  private remember(dictionary: string, profile: StoredProfile): StoredProfile {
    checkFoldVersion(dictionary, profile);
    if (this.profiles.size >= PROFILE_CACHE_CAPACITY) this.profiles.clear();
    this.profiles.set(dictionary, profile);
    return profile;
  }

  private async view(name: string): Promise<DictionaryView | undefined> {
    const view = await answerOf(this.options.dictionaries.inspect(name), dictionaryText(name));
    if (view.kind === 'unknown') return undefined;
    const { profile, entryCount, memoryBytes, generation, imports } = view;
    const { accents, typos, foldVersion } = profile;
    return { name, profile: { accents, typos }, foldVersion, entryCount, memoryBytes, generation, imports };
  }
}

/** Throws the error for a dictionary that exists with another profile or with other folding rules. */
function refuseProfile(dictionary: string, found: StoredProfile, wanted: Profile | undefined): never {
  if (wanted && isSameProfile(found, wanted)) checkFoldVersion(dictionary, found);
  throw dictionaryExists(dictionary, found);
}

function isListPosition(value: unknown): value is ListPosition {
  const { text, number } = (value ?? {}) as Partial<ListPosition>;
  return typeof text === 'string' && Number.isSafeInteger(number) && Number(number) >= 0;
}

function isName(value: unknown): value is string {
  return typeof value === 'string';
}
