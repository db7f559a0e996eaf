import type {
  AutocompleteEngine,
  DictionaryView,
  Entry,
  ImportSession,
  SuggestPage,
  Suggestion,
} from '../../src/engine/autocomplete/suggestion';

export const towns: DictionaryView = {
  name: 'towns',
  profile: { accents: 'kept', typos: true },
  foldVersion: 1,
  entryCount: 3,
  memoryBytes: 612.5,
  generation: 1,
  imports: [],
};

export const newYork: Suggestion = {
  entryId: 'nyc',
  text: 'New York',
  segments: [
    { text: 'New ', matched: false },
    { text: 'Yo', matched: true },
    { text: 'rk', matched: false },
  ],
  payload: Buffer.from([1, 2, 255]),
  kind: 'word-prefix',
  score: 2 ** 53 - 1,
  recent: false,
};

export const onePage: SuggestPage = { suggestions: [newYork], nextPageToken: 'next', partial: false };

type Verb = keyof AutocompleteEngine;
type Told = { -readonly [V in Verb]?: AutocompleteEngine[V] | undefined };
/** What is answered where a test has not said otherwise. */
const USUAL: { readonly [V in Verb]: Awaited<ReturnType<AutocompleteEngine[V]>> | 'session' } = {
  addRecent: undefined,
  removeRecent: true,
  suggestRecents: [newYork],
  deleteRecents: true,
  createDictionary: towns,
  putEntries: undefined,
  deleteEntries: 1,
  startImport: 'session',
  recordSelection: 5,
  suggest: onePage,
  listEntries: { entries: [], nextPageToken: '' },
  getDictionary: towns,
  listDictionaries: { dictionaries: [towns], nextPageToken: '' },
  deleteDictionary: true,
};
export const VERBS = Object.keys(USUAL) as readonly Verb[];

/** Stands in for autocomplete behind the transport: a test says what it answers, and sees what it was asked. */
export class FakeAutocomplete implements AutocompleteEngine {
  /** What a test says; `forget` takes it back. */
  told: Told = {};
  onPut: (entries: readonly Entry[]) => Promise<void> = () => Promise.resolve();
  onCommit: (entryCount: number) => Promise<DictionaryView> = () => Promise.resolve(towns);
  onAbandon: () => Promise<void> = () => Promise.resolve();
  /** The verbs that came through, with what they were given: a refused request's did not. */
  readonly asked: unknown[][] = [];
  drains = 0;

  readonly addRecent = this.verb('addRecent');
  readonly removeRecent = this.verb('removeRecent');
  readonly suggestRecents = this.verb('suggestRecents');
  readonly deleteRecents = this.verb('deleteRecents');
  readonly createDictionary = this.verb('createDictionary');
  readonly putEntries = this.verb('putEntries');
  readonly deleteEntries = this.verb('deleteEntries');
  readonly startImport = this.verb('startImport');
  readonly recordSelection = this.verb('recordSelection');
  readonly suggest = this.verb('suggest');
  readonly listEntries = this.verb('listEntries');
  readonly getDictionary = this.verb('getDictionary');
  readonly listDictionaries = this.verb('listDictionaries');
  readonly deleteDictionary = this.verb('deleteDictionary');

  drain(): void {
    this.drains += 1;
  }

  /** As it was in the beginning. */
  forget(): void {
    const fresh = new FakeAutocomplete();
    this.told = {};
    this.onPut = fresh.onPut;
    this.onCommit = fresh.onCommit;
    this.onAbandon = fresh.onAbandon;
    this.asked.splice(0);
  }

  /** The names of what was asked, in order. */
  get verbs(): unknown[] {
    return this.asked.map(([verb]) => verb);
  }

  private verb<V extends Verb>(verb: V): AutocompleteEngine[V] {
    const answer = (...given: unknown[]): Promise<unknown> => {
      this.asked.push([verb, ...given]);
      const told = this.told[verb] as ((...args: unknown[]) => Promise<unknown>) | undefined;
      if (told !== undefined) return told(...given);
      return Promise.resolve(USUAL[verb] === 'session' ? this.session() : USUAL[verb]);
    };
    return answer as AutocompleteEngine[V];
  }

  /** An import whose every step is noted. */
  session(): ImportSession {
    return {
      put: (entries) => {
        this.asked.push(['put', entries]);
        return this.onPut(entries);
      },
      commit: (entryCount) => {
        this.asked.push(['commit', entryCount]);
        return this.onCommit(entryCount);
      },
      abandon: () => {
        this.asked.push(['abandon']);
        return this.onAbandon();
      },
    };
  }
}
