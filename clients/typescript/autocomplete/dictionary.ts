import {
  AccentHandling,
  AutocompleteServiceService as methods,
  TypoMatching,
  type Dictionary as DictionaryInfo,
  type Entry as EntryMessage,
  type Profile as ProfileMessage,
  type SuggestRequest,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import type { CallChannel, CallLimits } from '../calls/call-channel';
import { duration } from '../duration';
import { toMs, type TimeSpan } from '../time-span';
import { batches, type Entry, type EntrySource } from './entries';
import { importEntries } from './import-entries';
import { matchKindCodes, suggestionOf, type MatchKind, type Suggestion } from './suggestions';
import { TypeAhead, type TypeAheadOptions } from './type-ahead';

/** A put or an import may wait for replicas of the store and for the loading of the entries. */
const WRITE_MS = 120_000;

/** How a dictionary matches. Fixed when the dictionary is created. */
export interface Profile {
  /** Default: kept. */
  readonly accents?: 'kept' | 'dropped';
  /** Default: true. */
  readonly typos?: boolean;
}

export interface SuggestOptions extends CallLimits {
  /** Default: 10. Maximum: 100. */
  readonly limit?: number;
  /** Default: all kinds. */
  readonly matchKinds?: readonly MatchKind[];
  /** The caller's list of recents, which rank first. */
  readonly recents?: string;
  /** How old the answer may be. Default: 0. Maximum: 1 hour. */
  readonly maxStaleness?: TimeSpan;
}

export interface ListedEntry extends Entry {
  readonly selectionCount: bigint;
}

/** A set of entries that all callers share. All methods reject with a HoldfastError. */
export class Dictionary {
  constructor(
    private readonly channel: CallChannel,
    readonly name: string,
  ) {}

  /** Without effect if the dictionary exists with the same profile. */
  async create(profile: Profile = {}, limits?: CallLimits): Promise<void> {
    const request = { dictionary: this.name, profile: profileMessage(profile) };
    await this.channel.unary(methods.createDictionary, request, limits);
  }

  /** Adds or replaces entries. Queries see each batch of up to 1,000 entries as a whole. */
  async put(entries: EntrySource, limits: CallLimits = {}): Promise<void> {
    for await (const batch of batches(entries)) {
      const request = { dictionary: this.name, entries: batch };
      await this.channel.unary(methods.putEntries, request, { timeoutMs: WRITE_MS, ...limits });
    }
  }

  /** Resolves with the number of entries that existed. At most 1,000 ids. */
  async deleteEntries(ids: readonly string[], limits: CallLimits = {}): Promise<number> {
    const request = { dictionary: this.name, entryIds: [...ids] };
    const once = { isIdempotent: false, ...limits };
    return (await this.channel.unary(methods.deleteEntries, request, once)).deletedCount;
  }

  /**
   * Replaces all entries in one step. Reads the entries as fast as the server takes them, so that they need not fit into
   * memory. An import that fails changes nothing.
   */
  import(entries: EntrySource, profile: Profile = {}, signal?: AbortSignal): Promise<DictionaryInfo> {
    const start = { dictionary: this.name, profile: profileMessage(profile) };
    return importEntries(this.channel, start, entries, signal);
  }

  async suggest(query: string, options: SuggestOptions = {}): Promise<Suggestion[]> {
    const request = { ...suggestRequest(this.name, options), query };
    const { suggestions } = await this.channel.unary(methods.suggest, request, options);
    return suggestions.map(suggestionOf);
  }

  /** Suggestions while somebody types. Close the result when the input field is gone. */
  typeAhead(options: TypeAheadOptions & SuggestOptions = {}): TypeAhead {
    return new TypeAhead(this.channel, suggestRequest(this.name, options), options);
  }

  /** Counts selections of an entry, which raise its score. Resolves with false if there is no such entry. */
  async recordSelection(entryId: string, count = 1, limits: CallLimits = {}): Promise<boolean> {
    const request = { dictionary: this.name, entryId, count };
    const once = { isIdempotent: false, ...limits };
    return (await this.channel.unary(methods.recordSelection, request, once)).recorded;
  }

  /** All entries in the order of their texts, page by page. */
  async *entries(limits?: CallLimits): AsyncGenerator<ListedEntry, void, undefined> {
    const request = { dictionary: this.name, startText: '', endText: '', pageSize: 500, pageToken: '' };
    do {
      const page = await this.channel.unary(methods.listEntries, request, limits);
      for (const { entry, selectionCount } of page.entries) if (entry) yield listed(entry, selectionCount);
      request.pageToken = page.nextPageToken;
    } while (request.pageToken !== '');
  }

  /** Size, memory, profile, imports in progress. */
  async info(limits?: CallLimits): Promise<DictionaryInfo | undefined> {
    return (await this.channel.unary(methods.getDictionary, { dictionary: this.name }, limits)).dictionary;
  }

  /** Deletes the dictionary with all entries. Resolves with false if there is none. */
  async delete(limits?: CallLimits): Promise<boolean> {
    return (await this.channel.unary(methods.deleteDictionary, { dictionary: this.name }, limits)).deleted;
  }
}

function profileMessage({ accents = 'kept', typos = true }: Profile): ProfileMessage {
  return {
    accents:
      accents === 'kept' ? AccentHandling.ACCENT_HANDLING_KEPT : AccentHandling.ACCENT_HANDLING_DROPPED,
    typoMatching: typos ? TypoMatching.TYPO_MATCHING_ON : TypoMatching.TYPO_MATCHING_OFF,
  };
}

function suggestRequest(
  dictionary: string,
  { limit = 0, matchKinds, recents = '', maxStaleness }: SuggestOptions,
): SuggestRequest {
  return {
    dictionary,
    query: '',
    pageSize: limit,
    pageToken: '',
    matchKinds: matchKindCodes(matchKinds),
    recentsList: recents,
    maxStaleness: maxStaleness === undefined ? undefined : duration(toMs(maxStaleness, 'maxStaleness')),
  };
}

function listed({ entryId, text, aliases, weight, payload }: EntryMessage, count: bigint): ListedEntry {
  return { id: entryId, text, aliases, weight, payload, selectionCount: count };
}
