import type { Cell } from './row';

/** The numbers of entries of the dictionaries. Goals name the sizes 200 k and 1 M. */
export function sizesFor(quick: boolean): readonly number[] {
  return (quick ? [10_000, 50_000] : [10_000, 200_000, 1_000_000]).filter((count) => count <= mostEntries);
}

/** The second smallest size, or the only size that `--most` allows. */
export function secondSize([first = 0, second = first]: readonly number[]): number {
  return second;
}

let mostEntries = Infinity;

/** Leaves out larger dictionaries, because the import of a million entries takes minutes. */
export function leaveOutLarger(count: number): void {
  mostEntries = count;
}

export function sizeName(count: number): string {
  return count >= 1_000_000 ? `${count / 1_000_000} M` : `${count / 1000} k`;
}

/** Returns a function from columns to the cells of this line. */
export function cellOf(table: string, line: string): (column: string) => Cell {
  return (column) => ({ table, line, column });
}
