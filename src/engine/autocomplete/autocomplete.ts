import {
  answerOf,
  dictionaryExists,
  dictionaryText,
  noSuchDictionary,
  recentsText,
  tooManyImports,
} from './autocomplete-errors';
import { DEFAULT_PROFILE } from './limits';
import type { Clock } from '../clock';
import type {
  BothFolded,
  DictionaryStore,
  FoldedEntry,
  ListPosition,
  StoredProfile,
} from './dictionary-store';
import { HoldfastError } from '../errors';
import { fold, FOLD_VERSION } from './fold';
import { DictionarySweeper } from './dictionary-sweeper';
import type { Identities } from '../identities';
import { StoreImport } from './import-session';
import { forms, markWords } from './match';
import { decodePageToken, encodePageToken, type Binding } from './page-token';
import { rankRecents, suggestRecents } from './recents-ranking';
import type { RecentsStore } from './recents-store';
import { isPagePosition, mergePage, rankAfter } from './suggest-page';
import type {
  AutocompleteEngine,
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
  /** A defect in work that no call waits for. */
  readonly onDefect: (error: unknown) => void;
}

/** Of so many dictionaries the profile is remembered; the store tells when it has become another one. */
const MOST_PROFILES = 10_000;
/** So many more entries are asked for as may be shown as recents instead. */
const ROOM_FOR_RECENTS = 16;

/** Recents and dictionaries: folds, matches recents, makes pages. Entries are matched in the store. */
export class Autocomplete implements AutocompleteEngine {
  private readonly profiles = new Map<string, StoredProfile>();
  private readonly sweeper: DictionarySweeper;

  constructor(private readonly options: AutocompleteOptions) {
    const { dictionaries, clock, identities, onDefect } = options;
    this.sweeper = new DictionarySweeper(dictionaries, clock, identities, onDefect);
  }

  /** Ends work in the background; calls under way go on. */
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
    // Before it is made, and after, lest the name was taken off the list in between.
    await answerOf(dictionaries.register(name), dictionaryText(name));
    const made = await answerOf(dictionaries.create(name, stored(profile)), dictionaryText(name));
    if (made.kind === 'other-profile' && !isSame(made.profile, profile))
      throw dictionaryExists(name, made.profile);
    await answerOf(dictionaries.register(name), dictionaryText(name));
    return this.getDictionary(name);
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
      // It was made anew with another one.
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
    const what = `the import of ${dictionaryText(dictionary)}`;
    // Before it is begun, so that whoever finds it unfinished finds it at all; and after, lest it was taken out between.
    await answerOf(dictionaries.register(dictionary), what);
    const begun = await answerOf(
      dictionaries.startImport(dictionary, importId, wanted && stored(wanted), stored(DEFAULT_PROFILE)),
      what,
    );
    if (begun.kind === 'other-profile') throw dictionaryExists(dictionary, begun.profile);
    if (begun.kind === 'busy') throw tooManyImports(dictionary);
    const session = new StoreImport({
      store: dictionaries,
      clock,
      name: dictionary,
      importId,
      profile: begun.profile,
      foldEntry,
      view: (name) => this.view(name),
      tidy: (name) => this.sweeper.tidy(name),
      onDefect,
    });
    try {
      checkVersion(dictionary, begun.profile);
      await answerOf(dictionaries.register(dictionary), what);
    } catch (error) {
      await session.abandon();
      throw error;
    }
    return session;
  }

  async recordSelection(dictionary: string, entryId: string, count: number): Promise<number | undefined> {
    const what = `entry ${JSON.stringify(entryId)} of ${dictionaryText(dictionary)}`;
    const recorded = await answerOf(
      this.options.dictionaries.select(dictionary, entryId, count),
      what,
      'repeat it only if one selection too many is better than one too few',
    );
    if (recorded.kind === 'unknown') throw noSuchDictionary(dictionary);
    return recorded.count;
  }

  async suggest(request: SuggestRequest): Promise<SuggestPage> {
    const { dictionary, query, pageSize, kinds, pageToken, recentsList } = request;
    const binding: Binding = ['suggest', dictionary, query, kinds, recentsList];
    const after = decodePageToken(binding, pageToken, isPagePosition);
    const folded = bothFolded(query);
    const marked = { kept: markWords(folded.kept), dropped: markWords(folded.dropped) };
    const limit = pageSize + (recentsList === '' ? 0 : ROOM_FOR_RECENTS);
    const reading =
      recentsList === '' ? [] : answerOf(this.options.recents.read(recentsList), recentsText(recentsList));
    const ranking = answerOf(
      this.options.dictionaries.suggest(dictionary, { query: marked, kinds, limit, after: rankAfter(after) }),
      dictionaryText(dictionary),
    );
    const [recents, ranked] = await Promise.all([reading, ranking]);
    if (ranked.kind === 'unknown') throw noSuchDictionary(dictionary);
    checkVersion(dictionary, ranked.profile);
    const own = recents.length === 0 ? [] : rankRecents(recents, { query, kinds, ...ranked.profile });
    const page = mergePage(ranked, own, after, query, pageSize);
    return {
      suggestions: page.suggestions,
      nextPageToken: page.next === undefined ? '' : encodePageToken(binding, page.next),
      partial: ranked.cut,
    };
  }

  async listEntries({ dictionary, from, to, pageSize, pageToken }: ListRange): Promise<EntriesPage> {
    const binding: Binding = ['entries', dictionary, from, to];
    const after = decodePageToken(binding, pageToken, isListPosition);
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
    const more = names.length > pageSize;
    const shown = names.slice(0, pageSize);
    // One that is being imported for the first time, or was deleted just now, is not there.
    const dictionaries: DictionaryView[] = [];
    for (const name of shown) {
      const view = await this.view(name);
      if (view !== undefined) dictionaries.push(view);
    }
    return {
      dictionaries,
      nextPageToken: more ? encodePageToken(binding, shown[shown.length - 1]) : '',
    };
  }

  async deleteDictionary(name: string): Promise<boolean> {
    const dropped = await answerOf(this.options.dictionaries.drop(name), dictionaryText(name));
    this.profiles.delete(name);
    this.sweeper.tidy(name);
    return dropped;
  }

  private async getProfile(dictionary: string): Promise<StoredProfile> {
    const view = await answerOf(this.options.dictionaries.inspect(dictionary), dictionaryText(dictionary));
    if (view.kind === 'unknown') throw noSuchDictionary(dictionary);
    return this.remember(dictionary, view.profile);
  }

  private remember(dictionary: string, profile: StoredProfile): StoredProfile {
    checkVersion(dictionary, profile);
    if (this.profiles.size >= MOST_PROFILES) this.profiles.clear();
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

/** What another version has folded, this one would not find. */
function checkVersion(dictionary: string, { foldVersion }: StoredProfile): void {
  if (foldVersion === FOLD_VERSION) return;
  throw new HoldfastError(
    'NOT_IMPLEMENTED',
    `${dictionaryText(dictionary)} was folded by version ${foldVersion}, which this server does not know; use a server that does, or delete and import it`,
  );
}

function isListPosition(value: unknown): value is ListPosition {
  const { text, number } = (value ?? {}) as Partial<ListPosition>;
  return typeof text === 'string' && Number.isSafeInteger(number) && Number(number) >= 0;
}

function isName(value: unknown): value is string {
  return typeof value === 'string';
}

function stored({ accents, typos }: Profile): StoredProfile {
  return { accents, typos, foldVersion: FOLD_VERSION };
}

function isSame(one: Profile, other: Profile): boolean {
  return one.accents === other.accents && one.typos === other.typos;
}

function bothFolded(text: string): BothFolded {
  return { kept: fold(text, 'kept'), dropped: fold(text, 'dropped') };
}

/** A text of nothing but marks that are dropped is kept as an empty form, for the entry is there all the same. */
const EMPTY_FORM = '\u0002\u0003';

function foldEntry(entry: Entry, { accents }: StoredProfile): FoldedEntry {
  const [own = '', ...others] = [entry.text, ...entry.aliases].map((text) => fold(text, accents));
  return { ...entry, folded: own === '' ? EMPTY_FORM + forms(others) : forms([own, ...others]) };
}
