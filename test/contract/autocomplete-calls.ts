import type { ServiceError } from '@grpc/grpc-js';
import * as proto from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { call, type Harness } from './harness';

export type Part = NonNullable<proto.ImportDictionaryRequest['part']>;
export type EntryFields = Partial<proto.Entry>;

export function entry(fields: EntryFields = {}): proto.Entry {
  return { ...proto.Entry.create({ entryId: 'nyc', text: 'New York' }), ...fields };
}

export function entries(count: number): proto.Entry[] {
  return Array.from({ length: count }, (_, index) => entry({ entryId: `id${index}` }));
}

export const start: Part = { $case: 'start', value: { dictionary: 'towns', profile: undefined } };
export const batch = (list: proto.Entry[]): Part => ({ $case: 'batch', value: { entries: list } });
export const commit = (entryCount: number | bigint): Part => ({
  $case: 'commit',
  value: { entryCount: BigInt(entryCount) },
});

/** The unary calls. Each call has a valid request, and a test may change single fields. */
export function autocompleteCalls(harness: Harness) {
  const client = harness.completions();
  return {
    addRecent: (fields: Partial<proto.AddRecentRequest> = {}) => {
      const good = proto.AddRecentRequest.create({ list: 'alice', text: 'New York' });
      return call(client, client.addRecent, { ...good, ...fields });
    },
    removeRecent: (fields: Partial<proto.RemoveRecentRequest> = {}) => {
      const good = proto.RemoveRecentRequest.create({ list: 'alice', text: 'New York' });
      return call(client, client.removeRecent, { ...good, ...fields });
    },
    suggestRecents: (fields: Partial<proto.SuggestRecentsRequest> = {}) => {
      const good = proto.SuggestRecentsRequest.create({ list: 'alice', query: 'yo' });
      return call(client, client.suggestRecents, { ...good, ...fields });
    },
    deleteRecents: (fields: Partial<proto.DeleteRecentsRequest> = {}) =>
      call(client, client.deleteRecents, { list: 'alice', ...fields }),
    createDictionary: (fields: Partial<proto.CreateDictionaryRequest> = {}) =>
      call(client, client.createDictionary, { dictionary: 'towns', profile: undefined, ...fields }),
    putEntries: (fields: Partial<proto.PutEntriesRequest> = {}) =>
      call(client, client.putEntries, { dictionary: 'towns', entries: [entry()], ...fields }),
    deleteEntries: (fields: Partial<proto.DeleteEntriesRequest> = {}) =>
      call(client, client.deleteEntries, { dictionary: 'towns', entryIds: ['nyc'], ...fields }),
    recordSelection: (fields: Partial<proto.RecordSelectionRequest> = {}) => {
      const good = proto.RecordSelectionRequest.create({ dictionary: 'towns', entryId: 'nyc' });
      return call(client, client.recordSelection, { ...good, ...fields });
    },
    suggest: (fields: Partial<proto.SuggestRequest> = {}) =>
      call(client, client.suggest, suggestRequest(fields)),
    listEntries: (fields: Partial<proto.ListEntriesRequest> = {}) => {
      const good = proto.ListEntriesRequest.create({ dictionary: 'towns' });
      return call(client, client.listEntries, { ...good, ...fields });
    },
    getDictionary: (fields: Partial<proto.GetDictionaryRequest> = {}) =>
      call(client, client.getDictionary, { dictionary: 'towns', ...fields }),
    listDictionaries: (fields: Partial<proto.ListDictionariesRequest> = {}) =>
      call(client, client.listDictionaries, { ...proto.ListDictionariesRequest.create(), ...fields }),
    deleteDictionary: (fields: Partial<proto.DeleteDictionaryRequest> = {}) =>
      call(client, client.deleteDictionary, { dictionary: 'towns', ...fields }),
  };
}

export type AutocompleteCalls = ReturnType<typeof autocompleteCalls>;

export function suggestRequest(fields: Partial<proto.SuggestRequest> = {}): proto.SuggestRequest {
  return { ...proto.SuggestRequest.create({ dictionary: 'towns', query: 'yo' }), ...fields };
}

/** An ImportDictionary call that a test sends part by part. */
export class ImportCall {
  readonly answer: Promise<proto.ImportDictionaryResponse>;
  readonly stream: ReturnType<proto.AutocompleteServiceClient['importDictionary']>;

  constructor(client: proto.AutocompleteServiceClient) {
    let settle: (error: ServiceError | null, response: proto.ImportDictionaryResponse) => void;
    this.answer = new Promise((resolve, reject) => {
      settle = (error, response) => (error === null ? resolve(response) : reject(error));
    });
    // A test awaits an expected failure later, so the rejection counts as handled now.
    this.answer.catch(() => undefined);
    this.stream = client.importDictionary((error, response) => settle(error, response));
  }

  /** Returns false if the client's buffer is full. */
  send(part: Part | undefined): boolean {
    return this.stream.write({ part });
  }

  /** Sends all parts and half-closes. */
  async all(...parts: readonly (Part | undefined)[]): Promise<proto.ImportDictionaryResponse> {
    for (const part of parts) this.send(part);
    this.stream.end();
    return this.answer;
  }
}
