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

/** At most 1000 are taken at once. */
const BATCH = 500;
const LONGEST = 512;
/** What no entry may have; a file that is not UTF-8 reads as U+FFFD. */
const UNWANTED = /[\p{Cc}\uFFFD]/u;
const REPORT_EVERY_MS = 5000;

export interface Loaded {
  readonly dictionary: Dictionary | undefined;
  /** Lines that are no words for a dictionary: too long, or with characters that it does not take. */
  readonly skipped: number;
  readonly sent: number;
}

type Part = NonNullable<ImportDictionaryRequest['part']>;

/** One import: whatever goes wrong, the dictionary stays as it was. */
class Import {
  private readonly stream: ReturnType<AutocompleteServiceClient['importDictionary']>;
  private readonly answer: Promise<ImportDictionaryResponse>;

  constructor(client: AutocompleteServiceClient) {
    let settle: (error: ServiceError | null, response: ImportDictionaryResponse) => void;
    this.answer = new Promise((resolve, reject) => {
      settle = (error, response) => (error ? reject(error) : resolve(response));
    });
    // Whoever writes hears of it.
    this.answer.catch(() => undefined);
    this.stream = client.importDictionary((error, response) => settle(error, response));
  }

  /** Waits until there is room for more, which is as fast as the server takes it; or says why there is none. */
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

function isWanted(text: string): boolean {
  return !UNWANTED.test(text) && Buffer.byteLength(text) <= LONGEST;
}

/** Replaces all words of the dictionary, in one step at the end; `resume` will find `résumé`. */
export async function loadWords(
  client: AutocompleteServiceClient,
  dictionary: string,
  words: AsyncIterable<Word> | Iterable<Word>,
  say: (text: string) => void,
): Promise<Loaded> {
  const started = new Import(client);
  let [sent, skipped] = [0, 0];
  let batch: Entry[] = [];
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    await started.write({ $case: 'batch', value: { entries: batch } });
    sent += batch.length;
    batch = [];
  };
  const startedAt = performance.now();
  // By the clock and not by the batch: the connection takes in many at once, and then none for a while.
  const reports = setInterval(() => {
    say(`${sent.toLocaleString('en')} words sent in ${spanText(performance.now() - startedAt)}`);
  }, REPORT_EVERY_MS);
  try {
    await started.write(startOf(dictionary));
    for await (const { text, weight } of words) {
      if (text === '') continue;
      if (!isWanted(text)) {
        skipped += 1;
        continue;
      }
      batch.push(Entry.create({ entryId: text, text, weight: BigInt(weight) }));
      if (batch.length === BATCH) await flush();
    }
    await flush();
    return { dictionary: await started.commit(sent), sent, skipped };
  } catch (error) {
    // Where it was the file that failed, the server is not left waiting.
    started.cancel();
    throw error;
  } finally {
    clearInterval(reports);
  }
}
