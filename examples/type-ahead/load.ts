import type { ServiceError } from '@grpc/grpc-js';
import {
  AccentHandling,
  type AutocompleteServiceClient,
  type Dictionary,
  Entry,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
  ImportStart,
  TypoMatching,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { spanText } from '../worker-typescript/words';
import type { Word } from './word-lists';

/** The number of entries in one message. The server accepts at most 1000. */
const BATCH_SIZE = 500;
/** The longest text of an entry in bytes of UTF-8. */
const MAX_BYTES = 512;
/** Characters that no entry may have. U+FFFD stands for bytes that are not UTF-8. */
const REFUSED_CHARACTERS = /[\p{Cc}\uFFFD]/u;
const REPORT_EVERY_MS = 5000;

export interface Loaded {
  readonly dictionary: Dictionary | undefined;
  /** The number of lines that were left out, because they are too long or contain refused characters. */
  readonly skipped: number;
  readonly sent: number;
}

type Part = NonNullable<ImportDictionaryRequest['part']>;

/** One import. Until the commit succeeds, the dictionary stays unchanged. */
class Import {
  private readonly stream: ReturnType<AutocompleteServiceClient['importDictionary']>;
  private readonly answer: Promise<ImportDictionaryResponse>;

  constructor(client: AutocompleteServiceClient) {
    let settle: (error: ServiceError | null, response: ImportDictionaryResponse) => void;
    this.answer = new Promise((resolve, reject) => {
      settle = (error, response) => (error ? reject(error) : resolve(response));
    });
    // This handler only prevents an unhandled rejection. `write` and `commit` report the error.
    this.answer.catch(() => undefined);
    this.stream = client.importDictionary((error, response) => settle(error, response));
  }

  /** Resolves when the stream accepts more, so the import is as fast as the server. Rejects if the import fails. */
  async write(part: Part): Promise<void> {
    const written = new Promise<void>((resolve) => this.stream.write({ part }, () => resolve()));
    await Promise.race([this.answer, written]);
  }

  async commit(entryCount: number): Promise<Dictionary | undefined> {
    await this.write({ $case: 'commit', value: { entryCount: BigInt(entryCount) } });
    this.stream.end();
    return (await this.answer).dictionary;
  }

  cancel(): void {
    this.stream.cancel();
  }
}

function startOf(dictionary: string): Part {
  const profile = {
    accents: AccentHandling.ACCENT_HANDLING_DROPPED,
    typoMatching: TypoMatching.TYPO_MATCHING_ON,
  };
  return { $case: 'start', value: ImportStart.create({ dictionary, profile }) };
}

function isAccepted(text: string): boolean {
  return !REFUSED_CHARACTERS.test(text) && Buffer.byteLength(text) <= MAX_BYTES;
}

/** Replaces all words of the dictionary in one step at the end. The query `resume` will find `résumé`. */
export async function loadWords(
  client: AutocompleteServiceClient,
  dictionary: string,
  words: AsyncIterable<Word> | Iterable<Word>,
  print: (text: string) => void,
): Promise<Loaded> {
  const dictionaryImport = new Import(client);
  let [sent, skipped] = [0, 0];
  let batch: Entry[] = [];
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    await dictionaryImport.write({ $case: 'batch', value: { entries: batch } });
    sent += batch.length;
    batch = [];
  };
  const startedAt = performance.now();
  // Reports follow the clock, because the connection accepts batches in bursts.
  const reports = setInterval(() => {
    print(`${sent.toLocaleString('en')} words sent in ${spanText(performance.now() - startedAt)}`);
  }, REPORT_EVERY_MS);
  try {
    await dictionaryImport.write(startOf(dictionary));
    for await (const { text, weight } of words) {
      if (text === '') continue;
      if (!isAccepted(text)) {
        skipped += 1;
        continue;
      }
      batch.push(Entry.create({ entryId: text, text, weight: BigInt(weight) }));
      if (batch.length === BATCH_SIZE) await flush();
    }
    await flush();
    return { dictionary: await dictionaryImport.commit(sent), sent, skipped };
  } catch (error) {
    // The server must not wait for more words if the file cannot be read.
    dictionaryImport.cancel();
    throw error;
  } finally {
    clearInterval(reports);
  }
}
