import {
  SuggestRequest,
  type Dictionary,
  type ListedEntry,
  type SuggestResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AutocompleteConnection, type EntryFields, wholeEntry } from '../support/clients/autocomplete-client';
import { type Ending, present } from '../support/clients/calls';
import type { Member } from './fleet';

/**
 * A client of dictionaries for the fault tests. The client never retries. A call rejects with the error that gRPC
 * reports.
 */
export class DictionaryClient extends AutocompleteConnection {
  async create(dictionary: string, accents = 0): Promise<void> {
    await this.call(this.stub.createDictionary, { dictionary, profile: { accents, typoMatching: 0 } });
  }

  async put(dictionary: string, entries: readonly EntryFields[]): Promise<void> {
    await this.call(this.stub.putEntries, { dictionary, entries: entries.map(wholeEntry) });
  }

  /** Resolves to the number of deleted entries. */
  async remove(dictionary: string, entryIds: string[]): Promise<number> {
    return (await this.call(this.stub.deleteEntries, { dictionary, entryIds })).deletedCount;
  }

  /** Resolves to the entry's selection count, or to undefined if the entry does not exist. */
  async select(dictionary: string, entryId: string, count = 1): Promise<number | undefined> {
    const request = { dictionary, entryId, count };
    const { recorded, selectionCount } = await this.call(this.stub.recordSelection, request);
    return recorded ? Number(selectionCount) : undefined;
  }

  suggest(dictionary: string, query: string, pageSize = 10): Promise<SuggestResponse> {
    return this.call(this.stub.suggest, SuggestRequest.create({ dictionary, query, pageSize }));
  }

  async get(dictionary: string): Promise<Dictionary> {
    return present((await this.call(this.stub.getDictionary, { dictionary })).dictionary);
  }

  /** All entries of all pages. */
  async list(dictionary: string): Promise<ListedEntry[]> {
    const all: ListedEntry[] = [];
    let pageToken = '';
    do {
      const request = { dictionary, startText: '', endText: '', pageSize: 500, pageToken };
      const page = await this.call(this.stub.listEntries, request);
      all.push(...page.entries);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return all;
  }

  /** The names of all dictionaries with this prefix. */
  async names(namePrefix: string): Promise<string[]> {
    const request = { namePrefix, pageSize: 500, pageToken: '' };
    return (await this.call(this.stub.listDictionaries, request)).dictionaries.map(({ name }) => name);
  }

  async drop(dictionary: string): Promise<boolean> {
    return (await this.call(this.stub.deleteDictionary, { dictionary })).deleted;
  }

  /** Runs a whole import. */
  async import(dictionary: string, entries: readonly EntryFields[]): Promise<Ending> {
    const running = this.startImport(dictionary);
    await running.send(entries);
    return running.commit();
  }
}

/** One client for each server that a test uses. */
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
