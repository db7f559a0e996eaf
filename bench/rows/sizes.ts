import type { Corpus } from '../words/corpus';
import { WORD_COUNT } from '../words/words';
import type { RowContext } from './row';

/** The largest corpus with goals, and of the rows that compare with other systems. */
export const MOST_COMPARED = 1_000_000;

/** The numbers of entries by which costs grow. */
export function sizesFor({ quick, sizes }: RowContext): readonly number[] {
  return sizes ?? (quick ? [1000, 20_000] : [1000, 10_000, 200_000, 1_000_000]);
}

/** The words, and the largest number of names. */
export function corporaFor(context: RowContext): readonly [words: Corpus, names: Corpus] {
  const most = Math.min(Math.max(...sizesFor(context)), MOST_COMPARED);
  return [
    { of: 'words', count: Math.min(most, WORD_COUNT) },
    { of: 'names', count: most },
  ];
}
