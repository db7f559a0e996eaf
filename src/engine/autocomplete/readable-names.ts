import type { NameReader } from './autocomplete-engine';
import { readOf } from './autocomplete-errors';
import type { EntryStore } from './entry-store';

/** The most steps of one list call without a name that the caller may read. */
const MAX_UNREADABLE_STEPS = 100;

/**
 * Names that the reader may read. The page ends after the last of these names, because a page token shows the name in
 * it. Only after MAX_UNREADABLE_STEPS steps without a readable name, a page ends after an unreadable name.
 */
export async function readableNames(
  store: Pick<EntryStore, 'names'>,
  reader: NameReader,
  prefix: string,
  pageSize: number,
  start: string | undefined,
): Promise<{ readonly names: readonly string[]; readonly next: string | undefined }> {
  let after = start;
  for (let step = 1; ; step++) {
    const reading = store.names(prefix, after, pageSize + 1);
    const found = await readOf(reading, 'the list of dictionaries');
    const hasMore = found.length > pageSize;
    const examined = found.slice(0, pageSize);
    const names = examined.filter((name) => reader.mayRead(name));
    after = examined.at(-1);
    if (!hasMore) return { names, next: undefined };
    if (names.length > 0) return { names, next: names.at(-1) };
    if (step === MAX_UNREADABLE_STEPS) return { names, next: after };
  }
}
