import { credentials, type ServiceError } from '@grpc/grpc-js';
import { once } from 'node:events';
import {
  AutocompleteServiceClient,
  Entry,
  SuggestRequest,
  type Dictionary,
  type ImportDictionaryRequest,
  type ListedEntry,
  type SuggestResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { endingOf, OWN_CONNECTION, present, type Ending } from '../support/clients/lease-client';
import type { Member } from './fleet';
import { answerOf } from './lease-stub';

type Part = NonNullable<ImportDictionaryRequest['part']>;

/** What a test sets of an entry. */
export type EntryFields = Partial<Entry> & Pick<Entry, 'entryId' | 'text'>;

const OK: Ending = {
  code: 'OK',
  reason: undefined,
  metadata: {},
  retryAfterMs: undefined,
  pushback: undefined,
  text: '',
};

/** A client of dictionaries with a connection of its own, on which nothing is retried. Rejects with what gRPC says. */
export class DictionaryClient {
  readonly stub: AutocompleteServiceClient;

  constructor(address: string) {
    this.stub = new AutocompleteServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  }

  async create(dictionary: string, accents = 0): Promise<void> {
    const profile = { accents, typoMatching: 0 };
    await answerOf((done) => this.stub.createDictionary({ dictionary, profile }, done));
  }

  async put(dictionary: string, entries: readonly EntryFields[]): Promise<void> {
    await answerOf((done) => this.stub.putEntries({ dictionary, entries: entries.map(whole) }, done));
  }

  async remove(dictionary: string, entryIds: string[]): Promise<void> {
    await answerOf((done) => this.stub.deleteEntries({ dictionary, entryIds }, done));
  }

  /** Resolves to all selections of the entry, undefined if there is no such entry. */
  async select(dictionary: string, entryId: string, count = 1): Promise<number | undefined> {
    const { recorded, selectionCount } = await answerOf<{ recorded: boolean; selectionCount: bigint }>(
      (done) => this.stub.recordSelection({ dictionary, entryId, count }, done),
    );
    return recorded ? Number(selectionCount) : undefined;
  }

  suggest(dictionary: string, query: string, pageSize = 10): Promise<SuggestResponse> {
    const request = SuggestRequest.create({ dictionary, query, pageSize });
    return answerOf((done) => this.stub.suggest(request, done));
  }

  async look(dictionary: string): Promise<Dictionary> {
    const answer = await answerOf<{ dictionary?: Dictionary | undefined }>((done) =>
      this.stub.getDictionary({ dictionary }, done),
    );
    return present(answer.dictionary);
  }

  /** All entries, page by page. */
  async list(dictionary: string): Promise<ListedEntry[]> {
    const all: ListedEntry[] = [];
    let pageToken = '';
    do {
      const request = { dictionary, startText: '', endText: '', pageSize: 500, pageToken };
      const page = await answerOf<{ entries: ListedEntry[]; nextPageToken: string }>((done) =>
        this.stub.listEntries(request, done),
      );
      all.push(...page.entries);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return all;
  }

  /** The names of all dictionaries that begin so. */
  async names(namePrefix: string): Promise<string[]> {
    const { dictionaries } = await answerOf<{ dictionaries: Dictionary[] }>((done) =>
      this.stub.listDictionaries({ namePrefix, pageSize: 500, pageToken: '' }, done),
    );
    return dictionaries.map(({ name }) => name);
  }

  async drop(dictionary: string): Promise<boolean> {
    const { deleted } = await answerOf<{ deleted: boolean }>((done) =>
      this.stub.deleteDictionary({ dictionary }, done),
    );
    return deleted;
  }

  /** Begins an import: its batches and its end are the test's. */
  startImport(dictionary: string): RunningImport {
    return new RunningImport(this.stub, dictionary);
  }

  /** A whole import, in batches. */
  async import(dictionary: string, entries: readonly EntryFields[]): Promise<Ending> {
    const running = this.startImport(dictionary);
    await running.send(entries);
    return running.commit();
  }

  close(): void {
    this.stub.close();
  }
}

/** One ImportDictionary in the hands of a test. */
export class RunningImport {
  readonly ended: Promise<Ending>;
  private readonly call: ReturnType<AutocompleteServiceClient['importDictionary']>;
  /** It takes no more. */
  over = false;
  private sent = 0;

  constructor(stub: AutocompleteServiceClient, dictionary: string) {
    let settle: (error: ServiceError | null) => void;
    this.ended = new Promise((resolve) => {
      settle = (error) => {
        this.over = true;
        resolve(error === null ? OK : endingOf(error));
      };
    });
    this.call = stub.importDictionary((error) => settle(error));
    // What it ends with says `ended`.
    this.call.on('error', () => undefined);
    this.write({ $case: 'start', value: { dictionary, profile: undefined } });
  }

  /** Resolves when the library takes more, or the import is over. */
  async send(entries: readonly EntryFields[], batchSize = 50): Promise<void> {
    for (let at = 0; at < entries.length && !this.over; at += batchSize) {
      const batch = entries.slice(at, at + batchSize).map(whole);
      this.sent += batch.length;
      if (this.write({ $case: 'batch', value: { entries: batch } })) continue;
      await Promise.race([once(this.call, 'drain'), this.ended]);
    }
  }

  commit(): Promise<Ending> {
    this.write({ $case: 'commit', value: { entryCount: BigInt(this.sent) } });
    this.end();
    return this.ended;
  }

  /** Half-closes, whatever was sent. */
  end(): void {
    this.call.end();
  }

  cancel(): void {
    this.call.cancel();
  }

  private write(part: Part): boolean {
    return this.call.write({ part });
  }
}

function whole(fields: EntryFields): Entry {
  return { ...Entry.create(), ...fields };
}

/** One client of each server that a test talks to. */
export class DictionaryClients {
  private readonly clients = new Map<string, DictionaryClient>();

  at({ address }: Pick<Member, 'address'>): DictionaryClient {
    const client = this.clients.get(address) ?? new DictionaryClient(address);
    this.clients.set(address, client);
    return client;
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
  }
}
