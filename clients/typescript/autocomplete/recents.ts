import { AutocompleteServiceService as methods } from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import type { CallChannel } from '../calls/call-channel';
import { CALL, type CallOptions } from '../calls/call-options';
import { checkedIfGiven, checkedOptions, type Known } from '../known-options';
import { checkCount } from '../counts';
import { checkedText } from '../texts';
import { matchKindCodes, suggestionOf, type MatchKind, type Suggestion } from './suggestions';

export interface RecentOptions extends CallOptions {
  /** The entry that the text stands for. Default: none. */
  readonly entryId?: string | undefined;
  /** At most 1 KiB. */
  readonly payload?: Uint8Array | undefined;
  /** The number of texts that the list keeps from now on. Default: 100. Range: 1 to 1000. */
  readonly capacity?: number | undefined;
}

export interface SuggestRecentsOptions extends CallOptions {
  /** Default: 10. Maximum: 100. */
  readonly limit?: number | undefined;
  /** Default: all kinds. */
  readonly matchKinds?: readonly MatchKind[] | undefined;
}

const RECENT: Known<RecentOptions> = { ...CALL, entryId: true, payload: true, capacity: true };
const SUGGEST: Known<SuggestRecentsOptions> = { ...CALL, limit: true, matchKinds: true };

/** A list of recents. The type has public members only, so a test can pass a plain object. */
export type Recents = Pick<RecentsClient, keyof RecentsClient>;

/** The latest choices of one user. All methods reject with a HoldfastError. */
export class RecentsClient {
  /** @internal */
  constructor(
    private readonly channel: CallChannel,
    readonly list: string,
  ) {
    checkedText('list', list);
  }

  /** Puts a text at the front of the list. */
  async add(text: string, options: RecentOptions = {}): Promise<void> {
    const { entryId = '', payload = new Uint8Array(), capacity } = checkedOptions(options, RECENT);
    checkCount('capacity', capacity);
    const request = { list: this.list, text, entryId, payload: Buffer.from(payload), capacity };
    await this.channel.unary(methods.addRecent, request, options);
  }

  /** Resolves with false if the list does not have the text. */
  async remove(text: string, options?: CallOptions): Promise<boolean> {
    checkedIfGiven(options, CALL);
    const request = { list: this.list, entryId: '', text };
    const { removed } = await this.channel.unary(methods.removeRecent, request, options);
    return removed;
  }

  /** The latest matching texts. An empty query gives the latest texts. */
  async suggest(query: string, options: SuggestRecentsOptions = {}): Promise<Suggestion[]> {
    const { limit = 0, matchKinds } = checkedOptions(options, SUGGEST);
    checkCount('limit', limit);
    const request = { list: this.list, query, pageSize: limit, matchKinds: matchKindCodes(matchKinds) };
    const { suggestions } = await this.channel.unary(methods.suggestRecents, request, options);
    return suggestions.map(suggestionOf);
  }

  /** Deletes the whole list. Resolves with false if there is none. */
  async delete(options?: CallOptions): Promise<boolean> {
    checkedIfGiven(options, CALL);
    const { deleted } = await this.channel.unary(methods.deleteRecents, { list: this.list }, options);
    return deleted;
  }
}
