import { once } from 'node:events';
import { credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import {
  AddRecentRequest,
  AutocompleteServiceClient,
  type Dictionary,
  Entry,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
  ListEntriesRequest,
  type Profile,
  RecordSelectionRequest,
  SuggestRecentsRequest,
  SuggestRequest,
  type SuggestResponse,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { type Ending, endingOf, type Method, OK, OWN_CONNECTION, present, promised } from './calls';

/** The fields of an entry that a test sets. */
export type EntryFields = Partial<Entry> & Pick<Entry, 'entryId' | 'text'>;

/** One ImportDictionary call that a test drives part by part. */
export class DictionaryImport {
  readonly answer: Promise<Dictionary>;
  /** Resolves to the ending of the call, and never rejects. */
  readonly ended: Promise<Ending>;
  /** True after the end of the call, when the call accepts no more parts. */
  over = false;
  private readonly call: ReturnType<AutocompleteServiceClient['importDictionary']>;
  private sent = 0;

  constructor(stub: AutocompleteServiceClient, dictionary: string, profile?: Profile) {
    let settle: (error: ServiceError | null, response: ImportDictionaryResponse) => void;
    this.answer = new Promise((resolve, reject) => {
      settle = (error, response) => {
        this.over = true;
        if (error === null) resolve(present(response.dictionary));
        else reject(error);
      };
    });
    this.ended = this.answer.then(() => OK, endingOf);
    this.call = stub.importDictionary((error, response) => settle(error, response));
    // `answer` has the error. An event 'error' without a listener throws.
    this.call.on('error', () => undefined);
    this.sendPart({ part: { $case: 'start', value: { dictionary, profile } } });
  }

  /** Sends entries in batches, no faster than the server reads them. Stops when the call has ended. */
  async send(entries: readonly EntryFields[], batchSize = 50): Promise<void> {
    for (let at = 0; at < entries.length && !this.over; at += batchSize) {
      const batch = entries.slice(at, at + batchSize).map(wholeEntry);
      this.sent += batch.length;
      if (this.sendPart({ part: { $case: 'batch', value: { entries: batch } } })) continue;
      await Promise.race([once(this.call, 'drain'), this.ended]);
    }
  }

  /** Sends one message. Returns false if the library's buffer is full. */
  sendPart(message: ImportDictionaryRequest): boolean {
    return this.call.write(message);
  }

  /** Commits all entries that `send` has sent. */
  commit(): Promise<Ending> {
    this.sendPart({ part: { $case: 'commit', value: { entryCount: BigInt(this.sent) } } });
    this.end();
    return this.ended;
  }

  /** Half-closes the call, with or without a commit. */
  end(): void {
    this.call.end();
  }

  cancel(): void {
    this.call.cancel();
  }
}

export function wholeEntry(fields: EntryFields): Entry {
  return { ...Entry.create(), ...fields };
}

/** The generated stub of AutocompleteService with a connection of its own, with promises. */
export class AutocompleteConnection {
  readonly stub: AutocompleteServiceClient;

  constructor(address: string) {
    this.stub = new AutocompleteServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  }

  call<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Response> {
    return promised((done) => method.call(this.stub, request, new Metadata(), {}, done));
  }

  /** Begins an import. The caller sends the entries and ends the import. */
  startImport(dictionary: string, profile?: Profile): DictionaryImport {
    return new DictionaryImport(this.stub, dictionary, profile);
  }

  close(): void {
    this.stub.close();
  }
}

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
