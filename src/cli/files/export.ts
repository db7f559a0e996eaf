import { createHash } from 'node:crypto';
import type { Entry, Holdfast, Profile } from '../../../clients/typescript';
import {
  Entry as EntryMessage,
  Profile as ProfileMessage,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { dictionaryPages } from '../autocomplete/dictionaries';
import { entryPages } from '../autocomplete/entries';
import { semaphoreKind } from '../leases/kinds';
import { timeOfDayText } from '../terminal';

/**
 * The lines of an export, each a JSON object with one key that says the kind:
 *
 *     {"holdfastExport":{"version":1,"createTime":"…"}}
 *     {"semaphore":{"name":"gpu","limit":8}}
 *     {"semaphore":{"name":"cpu","limit":0,"keptLimit":4}}
 *     {"dictionary":{"name":"towns","profile":{…}}}
 *     {"entry":{"entryId":"3","text":"New York"}}
 *     {"dictionaryEnd":{"entryCount":1}}
 *     {"end":{"semaphoreCount":1,"dictionaryCount":1,"entryCount":1,"sha256":"…"}}
 *
 * A paused semaphore has a `keptLimit`. The checksum is of all lines before the last, with their line breaks.
 */
export const EXPORT_VERSION = 1;

export interface Counts {
  semaphoreCount: number;
  dictionaryCount: number;
  entryCount: number;
}

export const noCounts = (): Counts => ({ semaphoreCount: 0, dictionaryCount: 0, entryCount: 0 });

/** What an import does, in the order of the file. */
export type ExportPart =
  | {
      readonly kind: 'semaphore';
      readonly name: string;
      readonly limit: number;
      /** Of a paused semaphore, else 0. An older `holdfast` reads only `limit`, so the semaphore stays paused there. */
      readonly keptLimit: number;
    }
  | { readonly kind: 'dictionary'; readonly name: string; readonly profile: Profile }
  | { readonly kind: 'entry'; readonly line: number; readonly entry: Entry }
  | { readonly kind: 'dictionaryEnd' };

export function countsText({ semaphoreCount, dictionaryCount, entryCount }: Counts): string {
  const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
  const semaphores = counted(semaphoreCount, 'semaphore', 'semaphores');
  const dictionaries = counted(dictionaryCount, 'dictionary', 'dictionaries');
  return `${semaphores}, ${dictionaries} with ${counted(entryCount, 'entry', 'entries')}`;
}

export interface ExportWish {
  /** The prefix of the names. Undefined: no semaphores. */
  readonly semaphores: string | undefined;
  /** The prefix of the names. Undefined: no dictionaries. */
  readonly dictionaries: string | undefined;
}

/**
 * The pieces of an export. At most one page is in memory. Rejects with the reason of `signal` when the signal aborts, so
 * an export that was cut short never has its last line.
 */
export async function* exportPieces(
  hf: Holdfast,
  { semaphores, dictionaries }: ExportWish,
  signal: AbortSignal,
  onCount: (entryCount: number) => void,
): AsyncGenerator<string, void, undefined> {
  const sum = createHash('sha256');
  const counts = noCounts();
  const hashed = (lines: readonly unknown[]) => {
    signal.throwIfAborted();
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    sum.update(text);
    return text;
  };
  yield hashed([{ holdfastExport: { version: EXPORT_VERSION, createTime: timeOfDayText() } }]);
  if (semaphores !== undefined) {
    for await (const rows of semaphorePages(hf, semaphores)) {
      counts.semaphoreCount += rows.length;
      yield hashed(
        rows.map(({ name, limit, keptLimit }) => ({
          semaphore: { name, limit, ...(keptLimit > 0 && { keptLimit }) },
        })),
      );
    }
  }
  if (dictionaries !== undefined) {
    for await (const lines of dictionaryLines(hf, dictionaries, counts, signal)) {
      yield hashed(lines);
      onCount(counts.entryCount);
    }
  }
  signal.throwIfAborted();
  yield `${JSON.stringify({ end: { ...counts, sha256: sum.digest('hex') } })}\n`;
}

async function* semaphorePages(hf: Holdfast, namePrefix: string) {
  let pageToken = '';
  do {
    const all = { holderId: '', identity: '', byWaiterCount: false };
    const query = { ...all, namePrefix, pageSize: 500, pageToken };
    const page = await semaphoreKind.list(hf, query);
    yield page.rows;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}

async function* dictionaryLines(
  hf: Holdfast,
  prefix: string,
  counts: Counts,
  signal: AbortSignal,
): AsyncGenerator<readonly unknown[], void, undefined> {
  for await (const page of dictionaryPages(hf, prefix, signal)) {
    for (const { name, profile } of page) {
      let entryCount = 0;
      yield [{ dictionary: { name, profile: ProfileMessage.toJSON(profile ?? ProfileMessage.create()) } }];
      for await (const rows of entryPages(hf, name, '', signal)) {
        const entries = rows.flatMap(({ entry }) => (entry ? [EntryMessage.toJSON(entry)] : []));
        entryCount += entries.length;
        counts.entryCount += entries.length;
        yield entries.map((entry) => ({ entry }));
      }
      counts.dictionaryCount += 1;
      yield [{ dictionaryEnd: { entryCount } }];
    }
  }
}
