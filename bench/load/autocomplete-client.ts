import {
  TypoMatching,
  type Entry,
  type MatchKind,
  type SuggestResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AutocompleteConnection } from '../../test/support/clients/autocomplete-connection';

/** The largest number of entries in one message. */
const BATCH = 1000;

export interface Question {
  readonly dictionary: string;
  readonly query: string;
  readonly pageSize: number;
  /** An empty list stands for all kinds. */
  readonly kinds: readonly MatchKind[];
}

/** The calls of AutocompleteService that benchmarks make. A partial answer is not asked for again. */
export class AutocompleteClient extends AutocompleteConnection {
  suggest({ dictionary, query, pageSize, kinds }: Question): Promise<SuggestResponse> {
    const matchKinds = [...kinds];
    const request = { dictionary, query, pageSize, matchKinds, pageToken: '', recentsList: '' };
    return this.call(this.stub.suggest, request);
  }

  /** Replaces the dictionary's content. Sends no faster than the server reads. */
  async import(dictionary: string, typos: boolean, entries: readonly Entry[]): Promise<void> {
    const typoMatching = typos ? TypoMatching.TYPO_MATCHING_ON : TypoMatching.TYPO_MATCHING_OFF;
    const running = this.startImport(dictionary, { accents: 0, typoMatching });
    await running.send(entries, BATCH);
    void running.commit();
    await running.answer;
  }

  async put(dictionary: string, entries: readonly Entry[]): Promise<void> {
    for (let at = 0; at < entries.length; at += BATCH) {
      await this.call(this.stub.putEntries, { dictionary, entries: entries.slice(at, at + BATCH) });
    }
  }

  async deleteDictionary(dictionary: string): Promise<void> {
    await this.call(this.stub.deleteDictionary, { dictionary });
  }

  async addRecent(list: string, text: string): Promise<void> {
    const request = { list, text, entryId: '', payload: Buffer.alloc(0), capacity: undefined };
    await this.call(this.stub.addRecent, request);
  }
}
