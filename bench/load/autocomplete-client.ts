import {
  SuggestRequest,
  TypoMatching,
  type Entry,
  type MatchKind,
  type SuggestResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AutocompleteClient as TestClient } from '../../test/support/clients/autocomplete-client';
import { batchesOf } from './batches';

/** The largest number of entries in one message. */
const BATCH = 1000;
const PAGE_SIZE = 10;

export interface Question {
  readonly dictionary: string;
  readonly query: string;
  /** An empty list stands for all kinds. */
  readonly kinds: readonly MatchKind[];
  /** Default: 0, so that every earlier write is visible. */
  readonly maxStalenessS?: number;
}

/** The client of the tests, with the first page of an answer and with imports of any size. */
export class AutocompleteClient extends TestClient {
  ask({ dictionary, query, kinds, maxStalenessS }: Question): Promise<SuggestResponse> {
    const maxStaleness =
      maxStalenessS === undefined ? undefined : { seconds: BigInt(maxStalenessS), nanos: 0 };
    const page = { dictionary, query, matchKinds: [...kinds], pageSize: PAGE_SIZE };
    return this.call(this.stub.suggest, SuggestRequest.create({ ...page, maxStaleness }));
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
}
