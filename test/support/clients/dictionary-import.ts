import type { ServiceError } from '@grpc/grpc-js';
import { once } from 'node:events';
import {
  Entry,
  type AutocompleteServiceClient,
  type Dictionary,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
  type Profile,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { endingOf, OK, type Ending } from './call-ending';
import { present } from './unary-call';

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
