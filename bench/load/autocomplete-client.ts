import { once } from 'node:events';
import { credentials, type ClientWritableStream } from '@grpc/grpc-js';
import {
  AutocompleteServiceClient,
  TypoMatching,
  type Entry,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
  type MatchKind,
  type SuggestResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { promised } from './lock-client';

/** Entries of one message: as many as there may be. */
const BATCH = 1000;

export interface Question {
  readonly dictionary: string;
  readonly query: string;
  readonly pageSize: number;
  /** None: all. */
  readonly kinds: readonly MatchKind[];
}

/** What a benchmark asks of AutocompleteService, as promises. One client is one connection. */
export class AutocompleteClient {
  private readonly stub: AutocompleteServiceClient;

  constructor(address: string) {
    this.stub = new AutocompleteServiceClient(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  suggest({ dictionary, query, pageSize, kinds }: Question): Promise<SuggestResponse> {
    const matchKinds = [...kinds];
    const request = { dictionary, query, pageSize, matchKinds, pageToken: '', recentsList: '' };
    return promised((done) => this.stub.suggest(request, done));
  }

  /** As a client would: it sends no faster than the server takes. Replaces what was there. */
  async import(dictionary: string, typos: boolean, entries: readonly Entry[]): Promise<void> {
    let call: ClientWritableStream<ImportDictionaryRequest> | undefined;
    const answered = promised<ImportDictionaryResponse>((done) => (call = this.stub.importDictionary(done)));
    const send = async (part: ImportDictionaryRequest['part']): Promise<void> => {
      // A server that has refused reads no more.
      if (call?.write({ part }) === false) await Promise.race([once(call, 'drain'), answered]);
    };
    const typoMatching = typos ? TypoMatching.TYPO_MATCHING_ON : TypoMatching.TYPO_MATCHING_OFF;
    await send({ $case: 'start', value: { dictionary, profile: { accents: 0, typoMatching } } });
    for (let at = 0; at < entries.length; at += BATCH) {
      await send({ $case: 'batch', value: { entries: entries.slice(at, at + BATCH) } });
    }
    await send({ $case: 'commit', value: { entryCount: BigInt(entries.length) } });
    call?.end();
    await answered;
  }

  async put(dictionary: string, entries: readonly Entry[]): Promise<void> {
    for (let at = 0; at < entries.length; at += BATCH) {
      const request = { dictionary, entries: entries.slice(at, at + BATCH) };
      await promised((done) => this.stub.putEntries(request, done));
    }
  }

  async deleteDictionary(dictionary: string): Promise<void> {
    await promised((done) => this.stub.deleteDictionary({ dictionary }, done));
  }

  async addRecent(list: string, text: string): Promise<void> {
    const request = { list, text, entryId: '', payload: Buffer.alloc(0), capacity: undefined };
    await promised((done) => this.stub.addRecent(request, done));
  }

  close(): void {
    this.stub.close();
  }
}
