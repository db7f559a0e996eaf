import type { ExpectedEntries } from './entry-collector';
import { sizeOfLayer, type LayerShape } from '../layer/layer-memory';
import { MAX_ALIASES } from '../../limits';

const WORD = Uint32Array.BYTES_PER_ELEMENT;
/** The lengths of id and record in a packed entry. */
const PACKED_HEADER = 4;
/** Position of the entry, position of its forms, selections, and 1.5 places of the table of ids. */
const COLLECTED_ROW = 4 + 4 + 8 + 6;
/**
 * Arrays of rows: six by order, and one of scores. When positions are sorted, nothing uses these arrays, but the
 * garbage collector may not have freed them.
 */
const RANKED_ROW = 6 * 4 + 8;
/** For sorted positions: tables of pairs of bytes, of character classes and of folds, and the spare memory of the sort. */
const TABLES = 3 * 2 ** 20;

/** The memory of a collector with these entries (bytes), an upper bound unless folding makes the texts longer. */
export function collectorBytes({ count, bytes }: ExpectedEntries): number {
  const packedBytes = bytes + PACKED_HEADER * count;
  const formBytes = bytes + count;
  return packedBytes + formBytes + COLLECTED_ROW * count;
}

/** The memory of a build with its layer (bytes), an upper bound unless folding makes the texts longer. */
export function mostBuildBytes(expected: ExpectedEntries): number {
  const { count, bytes } = expected;
  const formBytes = bytes + count;
  const beginnings = Math.min((1 + MAX_ALIASES) * count, formBytes);
  const shape: LayerShape = {
    entryCount: count,
    formBytes,
    entryBytes: bytes + PACKED_HEADER * count,
    idSeed: 0,
    lists: { beginnings, wordStarts: 0, otherStarts: formBytes - beginnings },
  };
  return collectorBytes(expected) + sortBytes(shape) + sizeOfLayer(shape);
}

/**
 * The memory that a build needs beside its collector and its layer (bytes), an upper bound. Only many long repeats need
 * the ranks of positions.
 */
export function sortBytes({ entryCount, formBytes, lists }: LayerShape): number {
  const byRank = RANKED_ROW * entryCount;
  if (lists === undefined) return byRank;
  const positionCount = lists.beginnings + lists.wordStarts + lists.otherStarts;
  const scratch = WORD * positionCount;
  const ranks = WORD * formBytes;
  const wordStarts = Math.ceil(positionCount / 8);
  return byRank + scratch + ranks + wordStarts + TABLES;
}
