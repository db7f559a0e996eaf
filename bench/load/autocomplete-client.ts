import {
  TypoMatching,
  type Dictionary,
  type Entry,
  type MatchKind,
  type SuggestResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AutocompleteConnection } from '../../test/support/clients/autocomplete-connection';
import { present } from '../../test/support/clients/unary-call';
import { batchesOf } from './batches';

/** The largest number of entries in one message. */
const BATCH = 1000;

export interface Question {
  readonly dictionary: string;
  readonly query: string;
  /** An empty list stands for all kinds. */
  readonly kinds: readonly MatchKind[];
  /** Default: 0, so that every earlier write is visible. */
  readonly maxStalenessS?: number;
}

/** The calls of AutocompleteService that benchmarks make. */
export class AutocompleteClient extends AutocompleteConnection {
  suggest({ dictionary, query, kinds, maxStalenessS }: Question): Promise<SuggestResponse> {
    const maxStaleness =
      maxStalenessS === undefined ? undefined : { seconds: BigInt(maxStalenessS), nanos: 0 };
    const page = { pageSize: 10, pageToken: '', recentsList: '' };
    return this.call(this.stub.suggest, {
      dictionary,
      query,
      matchKinds: [...kinds],
      ...page,
      ...{ maxStaleness },
    });
  }

  /** Replaces the dictionary's content. Sends no faster than the server reads. Resolves to the number of entries. */
  async import(dictionary: string, entries: Iterable<Entry>): Promise<number> {
    const typoMatching = TypoMatching.TYPO_MATCHING_ON;
    const running = this.startImport(dictionary, { accents: 0, typoMatching });
    let count = 0;
    for (const batch of batchesOf(entries, BATCH)) {
      await running.send(batch, BATCH);
      count += batch.length;
    }
    void running.commit();
    await running.answer;
    return count;
  }

  async put(dictionary: string, entries: Entry[]): Promise<void> {
    await this.call(this.stub.putEntries, { dictionary, entries });
  }

  async select(dictionary: string, entryId: string): Promise<void> {
    await this.call(this.stub.recordSelection, { dictionary, entryId, count: 1 });
  }

  async getDictionary(dictionary: string): Promise<Dictionary> {
    return present((await this.call(this.stub.getDictionary, { dictionary })).dictionary);
  }

  async deleteDictionary(dictionary: string): Promise<void> {
    await this.call(this.stub.deleteDictionary, { dictionary });
  }

  async addRecent(list: string, text: string): Promise<void> {
    const request = { list, text, entryId: '', payload: Buffer.alloc(0), capacity: undefined };
    await this.call(this.stub.addRecent, request);
  }
}
