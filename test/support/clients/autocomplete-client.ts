import { credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import {
  AddRecentRequest,
  AutocompleteServiceClient,
  Entry,
  ListEntriesRequest,
  RecordSelectionRequest,
  SuggestRecentsRequest,
  SuggestRequest,
  type Dictionary,
  type Profile,
  type SuggestResponse,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { OWN_CONNECTION, type Method } from './lease-client';

/** An import as its client sees it: parts are sent one by one. */
export interface OpenImport {
  send(part: ImportDictionaryRequest): void;
  end(): void;
  cancel(): void;
  readonly answer: Promise<Dictionary>;
}

/** A client of AutocompleteService with a connection of its own: the generated stub, with promises. */
export class AutocompleteClient {
  readonly stub: AutocompleteServiceClient;

  constructor(address: string) {
    this.stub = new AutocompleteServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  }

  close(): void {
    this.stub.close();
  }

  call<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Response> {
    return new Promise((resolve, reject) => {
      method.call(this.stub, request, new Metadata(), {}, (error, response) => {
        if (error) reject(error);
        else resolve(response);
      });
    });
  }

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

  /** A busy machine may cut an answer short: then it is asked again. */
  async suggest(asked: Partial<SuggestRequest>): Promise<SuggestResponse> {
    for (let time = 1; ; time += 1) {
      const answer = await this.call(this.stub.suggest, SuggestRequest.create(asked));
      if (!answer.partial || time === 100) return answer;
    }
  }

  /** Of one page. */
  async texts(asked: Partial<SuggestRequest>): Promise<string[]> {
    return (await this.suggest(asked)).suggestions.map(({ text }) => text);
  }

  list(asked: Partial<ListEntriesRequest>) {
    return this.call(this.stub.listEntries, ListEntriesRequest.create(asked));
  }

  async addRecent(asked: Partial<AddRecentRequest>): Promise<void> {
    await this.call(this.stub.addRecent, AddRecentRequest.create(asked));
  }

  async recents(asked: Partial<SuggestRecentsRequest>): Promise<string[]> {
    const request = SuggestRecentsRequest.create(asked);
    return (await this.call(this.stub.suggestRecents, request)).suggestions.map(({ text }) => text);
  }

  async get(dictionary: string): Promise<Dictionary | undefined> {
    return (await this.call(this.stub.getDictionary, { dictionary })).dictionary;
  }

  import(dictionary: string, profile?: Profile): OpenImport {
    let told: (error: ServiceError | null, response: ImportDictionaryResponse) => void = () => undefined;
    const answer = new Promise<Dictionary>((resolve, reject) => {
      told = (error, response) => {
        if (error) reject(error);
        else if (response.dictionary) resolve(response.dictionary);
      };
    });
    // Whoever awaits it hears; nobody has to.
    answer.catch(() => undefined);
    const call = this.stub.importDictionary((error, response) => told(error, response));
    call.on('error', () => undefined);
    call.write({ part: { $case: 'start', value: { dictionary, profile } } });
    return {
      send: (part) => void call.write(part),
      end: () => void call.end(),
      cancel: () => call.cancel(),
      answer,
    };
  }

  /** Asks one query after the other, each after the answer to the one before. */
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
