import { createHash } from 'node:crypto';
import type { Holdfast } from '../../../clients/typescript';
import { Entry, Profile } from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { dictionaryPages } from '../autocomplete/dictionaries';
import { entryPages } from '../autocomplete/entries';
import { semaphoreKind } from '../leases/semaphore-kind';
import { timeOfDayText } from '../time-of-day';
import { EXPORT_VERSION, noCounts, type Counts } from './export-lines';

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
      yield [{ dictionary: { name, profile: Profile.toJSON(profile ?? Profile.create()) } }];
      for await (const rows of entryPages(hf, name, '', signal)) {
        const entries = rows.flatMap(({ entry }) => (entry ? [Entry.toJSON(entry)] : []));
        entryCount += entries.length;
        counts.entryCount += entries.length;
        yield entries.map((entry) => ({ entry }));
      }
      counts.dictionaryCount += 1;
      yield [{ dictionaryEnd: { entryCount } }];
    }
  }
}
