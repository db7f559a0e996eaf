import type { Cell } from './row';

/** Of how many entries the dictionaries are. The middle one is where goals name a size of 200 k, the last one 1 M. */
export function sizesFor(quick: boolean): readonly number[] {
  return (quick ? [10_000, 50_000] : [10_000, 200_000, 1_000_000]).filter((count) => count <= most);
}

let most = Infinity;

/** Importing a million takes minutes: for runs that have not got them. */
export function leaveOutLarger(than: number): void {
  most = than;
}

export function sizeName(count: number): string {
  return count >= 1_000_000 ? `${count / 1_000_000} M` : `${count / 1000} k`;
}

/** The column of a table in the line of a size, and of what else the line is about. */
export function cellOf(table: string, line: string): (column: string) => Cell {
  return (column) => ({ table, line, column });
}
