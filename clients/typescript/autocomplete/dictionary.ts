import {
  AccentHandling,
  AutocompleteServiceService as methods,
  TypoMatching,
  type Dictionary as DictionaryInfo,
  type Entry as EntryMessage,
  type Profile as ProfileMessage,
  type SuggestRequest,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import type { CallChannel } from '../calls/call-channel';
import { CALL, type CallOptions } from '../calls/call-options';
import { withCaller } from '../caller-stack';
import { checkCount } from '../counts';
import { duration } from '../duration';
import { checkedIfGiven, checkedOptions, type Known } from '../known-options';
import { NUMBERS } from '../numbers';
import { invalidOption, toMs, type TimeSpan } from '../time-span';
import { checkedText } from '../texts';
import { batches, type Entry, type EntrySource } from './entries';
import { importEntries } from './import-entries';
import { matchKindCodes, suggestionOf, type MatchKind, type Suggestion } from './suggestions';
import { TYPE_AHEAD, TypeAheadClient, type TypeAhead, type TypeAheadOptions } from './type-ahead';

/** How a dictionary matches. Fixed when the dictionary is created. */
export interface Profile {
  /** Default: kept. */
  readonly accents?: 'kept' | 'dropped' | undefined;
  /** Default: true. */
  readonly typos?: boolean | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Default: the defaults of each field. */
  readonly profile?: Profile | undefined;
}

export interface ImportOptions extends CallOptions {
  /**
   * Default: the dictionary keeps its profile, and a new dictionary has the defaults. Another profile than the
   * dictionary's rejects with a DictionaryExistsError.
   */
  readonly profile?: Profile | undefined;
  /** The longest time of the whole import, with the reading of the entries. Default: no bound. */
  readonly timeout?: TimeSpan | undefined;
}

export interface SelectionOptions extends CallOptions {
  /** The number of selections. Default: 1. */
  readonly count?: number | undefined;
}

/** What a query asks for. */
export interface QueryOptions {
  /** Default: 10. Maximum: 100. */
  readonly limit?: number | undefined;
  /** Default: all kinds. */
  readonly matchKinds?: readonly MatchKind[] | undefined;
  /** The caller's list of recents, which rank first. */
  readonly recents?: string | undefined;
  /** How old the answer may be. Default: 0. Maximum: 1 hour. */
  readonly maxStaleness?: TimeSpan | undefined;
}

export interface SuggestOptions extends QueryOptions, CallOptions {}

/** `timeout` holds for each page. */
export interface SuggestAllOptions extends Omit<SuggestOptions, 'limit'> {
  /** The suggestions of one call. Default: 100. Maximum: 100. */
  readonly pageSize?: number | undefined;
}

export interface ListedEntry extends Entry {
  readonly weight: number;
  /** Below 2^53. */
  readonly selectionCount: number;
}

/** The server gives no more suggestions at once. */
const LARGEST_PAGE = 100;

const QUERY = { matchKinds: true, recents: true, maxStaleness: true } as const;
const PROFILE: Known<Profile> = { accents: true, typos: true };
const CREATE: Known<CreateOptions> = { ...CALL, profile: true };
const IMPORT: Known<ImportOptions> = CREATE;
const SELECTION: Known<SelectionOptions> = { ...CALL, count: true };
const SUGGEST: Known<SuggestOptions> = { ...CALL, ...QUERY, limit: true };
const SUGGEST_ALL: Known<SuggestAllOptions> = { ...CALL, ...QUERY, pageSize: true };

/** A dictionary. The type has public members only, so a test can pass a plain object. */
export type Dictionary = Pick<DictionaryClient, keyof DictionaryClient>;

/** A set of entries that all callers share. All methods reject with a HoldfastError. */
export class DictionaryClient {
  /** @internal */
  constructor(
    private readonly channel: CallChannel,
    readonly name: string,
  ) {
    checkedText('name', name);
  }

  /** Without effect if the dictionary exists with the same profile. */
  async create(options: CreateOptions = {}): Promise<void> {
    checkedOptions(options, CREATE);
    const request = { dictionary: this.name, profile: profileMessage(options.profile) };
    await this.channel.unary(methods.createDictionary, request, options);
  }

  /**
   * Adds or replaces entries. Queries see each batch of up to 1,000 entries as a whole. `timeout` holds for each batch.
   * Default: 2 min.
   */
  async put(entries: EntrySource, options: CallOptions = {}): Promise<void> {
    checkedOptions(options, CALL);
    for await (const batch of batches(entries)) {
      const request = { dictionary: this.name, entries: batch };
      await this.channel.unary(methods.putEntries, request, options, NUMBERS.limits.putMs);
    }
  }

  /** Resolves with the number of entries that existed. At most 1,000 ids. */
  async deleteEntries(ids: readonly string[], options: CallOptions = {}): Promise<number> {
    checkedOptions(options, CALL);
    const request = { dictionary: this.name, entryIds: [...ids] };
    const once = { ...options, isIdempotent: false };
    return (await this.channel.unary(methods.deleteEntries, request, once)).deletedCount;
  }

  /**
   * Replaces all entries in one step. Reads the entries as fast as the server takes them, so that they need not fit into
   * memory. An import that fails changes nothing, and is not repeated, because the source has been read.
   */
  async import(entries: EntrySource, options: ImportOptions = {}): Promise<DictionaryInfo> {
    checkedOptions(options, IMPORT);
    const start = { dictionary: this.name, profile: profileMessage(options.profile) };
    return withCaller(this.import, () => importEntries(this.channel, start, entries, options));
  }

  /** The best suggestions. An empty query gives the top entries. */
  async suggest(query: string, options: SuggestOptions = {}): Promise<Suggestion[]> {
    checkedOptions(options, SUGGEST);
    const request = { ...suggestRequest(this.name, options), query };
    const { suggestions } = await this.channel.unary(methods.suggest, request, options);
    return suggestions.map(suggestionOf);
  }

  /** All suggestions, the best first, page by page: `break` ends the calls. */
  async *suggestAll(
    query: string,
    options: SuggestAllOptions = {},
  ): AsyncGenerator<Suggestion, void, undefined> {
    const { pageSize = LARGEST_PAGE, ...others } = checkedOptions(options, SUGGEST_ALL);
    checkCount('pageSize', pageSize);
    const request = { ...suggestRequest(this.name, { ...others, limit: pageSize }), query };
    do {
      const page = await this.channel.unary(methods.suggest, request, options);
      for (const message of page.suggestions) yield suggestionOf(message);
      request.pageToken = page.nextPageToken;
    } while (request.pageToken !== '');
  }

  /** Suggestions while somebody types. Close the result when the input field is gone, or abort `signal`. */
  typeAhead(options: TypeAheadOptions & QueryOptions = {}): TypeAhead {
    checkedOptions(options, { ...TYPE_AHEAD, ...QUERY, limit: true });
    return new TypeAheadClient(this.channel, suggestRequest(this.name, options), options);
  }

  /** Counts selections of an entry, which raise its score. Resolves with false if there is no such entry. */
  async recordSelection(entryId: string, options: SelectionOptions = {}): Promise<boolean> {
    const { count = 1 } = checkedOptions(options, SELECTION);
    checkCount('count', count);
    const request = { dictionary: this.name, entryId, count };
    const once = { ...options, isIdempotent: false };
    return (await this.channel.unary(methods.recordSelection, request, once)).recorded;
  }

  /** All entries in the order of their texts, page by page. */
  async *entries(options?: CallOptions): AsyncGenerator<ListedEntry, void, undefined> {
    checkedIfGiven(options, CALL);
    const request = {
      dictionary: this.name,
      startText: '',
      endText: '',
      pageSize: NUMBERS.entries.pageSize,
      pageToken: '',
    };
    do {
      const page = await this.channel.unary(methods.listEntries, request, options);
      for (const { entry, selectionCount } of page.entries) if (entry) yield listed(entry, selectionCount);
      request.pageToken = page.nextPageToken;
    } while (request.pageToken !== '');
  }

  /** Size, memory, profile, imports in progress. */
  async info(options?: CallOptions): Promise<DictionaryInfo | undefined> {
    checkedIfGiven(options, CALL);
    return (await this.channel.unary(methods.getDictionary, { dictionary: this.name }, options)).dictionary;
  }

  /** Deletes the dictionary with all entries. Resolves with false if there is none. */
  async delete(options?: CallOptions): Promise<boolean> {
    checkedIfGiven(options, CALL);
    return (await this.channel.unary(methods.deleteDictionary, { dictionary: this.name }, options)).deleted;
  }
}

/** Undefined: the server chooses the profile. */
function profileMessage(profile: Profile | undefined): ProfileMessage | undefined {
  if (profile === undefined) return undefined;
  const { accents = 'kept', typos = true } = checkedOptions(profile, PROFILE);
  if (accents !== 'kept' && accents !== 'dropped') throw invalidOption('accents', '"kept" or "dropped"');
  if (typeof typos !== 'boolean') throw invalidOption('typos', 'true or false');
  return {
    accents:
      accents === 'kept' ? AccentHandling.ACCENT_HANDLING_KEPT : AccentHandling.ACCENT_HANDLING_DROPPED,
    typoMatching: typos ? TypoMatching.TYPO_MATCHING_ON : TypoMatching.TYPO_MATCHING_OFF,
  };
}

function suggestRequest(
  dictionary: string,
  { limit = 0, matchKinds, recents = '', maxStaleness }: QueryOptions,
): SuggestRequest {
  checkCount('limit', limit);
  return {
    dictionary,
    query: '',
    pageSize: limit,
    pageToken: '',
    matchKinds: matchKindCodes(matchKinds),
    recentsList: checkedText('recents', recents),
    maxStaleness: maxStaleness === undefined ? undefined : duration(toMs(maxStaleness, 'maxStaleness')),
  };
}

function listed({ entryId, text, aliases, weight, payload }: EntryMessage, count: bigint): ListedEntry {
  return { id: entryId, text, aliases, weight: Number(weight), payload, selectionCount: Number(count) };
}
