import type { ReadableNames } from '../base/readable-names';
import type {
  DictionariesPage,
  DictionaryView,
  EntriesPage,
  ImportSession,
  ListRange,
  Profile,
  Recent,
  RecentsQuery,
  StoredEntry,
  Suggestion,
  SuggestPage,
  SuggestRequest,
} from './suggestion';
import type { Writer } from './quota/writer';

/** The caller of a list. */
export interface NameReader extends ReadableNames {
  /** Empty: this server does not authenticate callers. */
  readonly identity: string;
  /** True: the caller no longer waits for the list. */
  readonly cancelled: boolean;
}

/**
 * The engine's interface for the transport, which has checked all fields. A rejection with another error than a
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
