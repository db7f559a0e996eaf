import { firstPlace, placeAfter } from '../base/readable-names';
import type { NameReader } from './autocomplete-engine';
import { readOf } from './autocomplete-errors';
import type { EntryStore } from './entry-store';

/**
 * Names that the reader may read. The page ends after one of these names, because the page token contains this name,
 * and the reader can decode the token.
 */
export async function readableNames(
  store: Pick<EntryStore, 'names'>,
  reader: NameReader,
  prefix: string,
  pageSize: number,
  start: string | undefined,
): Promise<{ readonly names: readonly string[]; readonly next: string | undefined }> {
  const first = firstPlace(reader, prefix);
  let after: string | undefined = start ?? first;
  while (first !== undefined && after !== undefined && !reader.cancelled) {
    const found = await readOf(store.names(prefix, after, pageSize + 1), 'the list of dictionaries');
    const hasMore = found.length > pageSize;
    const examined = found.slice(0, pageSize);
    const names = examined.filter((name) => reader.mayRead(name));
    if (!hasMore) return { names, next: undefined };
    if (names.length > 0) return { names, next: names.at(-1) };
    after = placeAfter(reader, prefix, examined.at(-1) ?? '');
  }
  return { names: [], next: undefined };
}
