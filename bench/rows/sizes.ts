import type { Corpus } from '../words/corpus';
import { WORD_COUNT } from '../words/words';

/** The largest corpus with goals, and of the rows that compare with other systems. */
export const MOST_COMPARED = 1_000_000;

let chosen: readonly number[] | undefined;

/** Chooses the numbers of entries. Returns false for a wrong number. */
export function chooseSizes(sizes: readonly number[]): boolean {
  chosen = [...sizes].sort((a, b) => a - b);
  return sizes.every((size) => Number.isInteger(size) && size >= 100 && size <= 5_000_000);
}

/** The numbers of entries by which costs grow. */
export function sizesFor(quick: boolean): readonly number[] {
  return chosen ?? (quick ? [1000, 20_000] : [1000, 10_000, 200_000, 1_000_000]);
}

/** The words, and the largest number of names. */
export function corporaFor(quick: boolean): readonly [words: Corpus, names: Corpus] {
  const most = Math.min(Math.max(...sizesFor(quick)), MOST_COMPARED);
  return [
    { of: 'words', count: Math.min(most, WORD_COUNT) },
    { of: 'names', count: most },
  ];
}
