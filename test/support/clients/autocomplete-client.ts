import {
  AddRecentRequest,
  Entry,
  ListEntriesRequest,
  RecordSelectionRequest,
  SuggestRecentsRequest,
  SuggestRequest,
  type Dictionary,
  type SuggestResponse,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { AutocompleteConnection } from './autocomplete-connection';

/** A client of AutocompleteService for tests of its answers. */
export class AutocompleteClient extends AutocompleteConnection {
  async create(dictionary: string): Promise<void> {
    await this.call(this.stub.createDictionary, { dictionary, profile: undefined });
  }

  async put(dictionary: string, ...entries: Partial<Entry>[]): Promise<void> {
    await this.call(this.stub.putEntries, { dictionary, entries: entries.map((one) => Entry.create(one)) });
  }

  async delete(dictionary: string, ...entryIds: string[]): Promise<number> {
    return (await this.call(this.stub.deleteEntries, { dictionary, entryIds })).deletedCount;
  }

  async select(dictionary: string, entryId: string, count = 1): Promise<bigint> {
    const request = RecordSelectionRequest.create({ dictionary, entryId, count });
    return (await this.call(this.stub.recordSelection, request)).selectionCount;
  }

  async suggest(wanted: Partial<SuggestRequest>): Promise<SuggestResponse> {
    const answer = await this.call(this.stub.suggest, SuggestRequest.create(wanted));
    if (answer.partial) throw new Error('the answer is partial, but every answer must be complete');
    return answer;
  }

  async texts(wanted: Partial<SuggestRequest>): Promise<string[]> {
    return (await this.suggest(wanted)).suggestions.map(({ text }) => text);
  }

  list(wanted: Partial<ListEntriesRequest>) {
    return this.call(this.stub.listEntries, ListEntriesRequest.create(wanted));
  }

  async addRecent(wanted: Partial<AddRecentRequest>): Promise<void> {
    await this.call(this.stub.addRecent, AddRecentRequest.create(wanted));
  }

  async recents(wanted: Partial<SuggestRecentsRequest>): Promise<string[]> {
    const request = SuggestRecentsRequest.create(wanted);
    return (await this.call(this.stub.suggestRecents, request)).suggestions.map(({ text }) => text);
  }

  async get(dictionary: string): Promise<Dictionary | undefined> {
    return (await this.call(this.stub.getDictionary, { dictionary })).dictionary;
  }

  /** Sends queries over one stream, each query after the answer to the previous query. */
  async typed(queries: readonly SuggestStreamRequest[]): Promise<SuggestStreamResponse[]> {
    const stream = this.stub.suggestStream();
    const answers: SuggestStreamResponse[] = [];
    for (const query of queries) {
      stream.write(query);
      answers.push(await new Promise<SuggestStreamResponse>((resolve) => stream.once('data', resolve)));
    }
    const ended = new Promise((resolve) => stream.once('end', resolve));
    stream.resume();
    stream.end();
    await ended;
    return answers;
  }
}
