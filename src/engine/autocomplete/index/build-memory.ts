import { sizeOfLayer } from './layer-memory';

/** What is known of a dictionary before its index is built. */
export interface BuildSize {
  readonly entryCount: number;
  /** The bytes of all ids and records. */
  readonly entryBytes: number;
  /** The bytes of all folded forms and of a zero byte after each form. */
  readonly formBytes: number;
}

/** The memory of a build in bytes. Both numbers are upper bounds. */
export interface BuildMemory {
  /** The finished layer. */
  readonly layerBytes: number;
  /** The layer, the collector and everything else that the build needs at the same time. */
  readonly peakBytes: number;
}

const WORD = Uint32Array.BYTES_PER_ELEMENT;
/** The lengths of id and record in a packed entry. */
const PACKED_HEADER = 4;
/** Position of the entry, position of its forms, selections, and 1.5 places of the table of ids. */
const COLLECTED_ROW = 4 + 4 + 8 + 6;
/** Arrays of rows: six by order, and one of scores. They are garbage when positions are sorted, but still there. */
const RANKED_ROW = 6 * 4 + 8;
/** Tables of pairs of bytes, of character classes and of folds, and the spare memory of the sort. */
const TABLES = 3 * 2 ** 20;

/**
 * The memory that a build needs. There are at most as many positions as bytes of forms, so the estimate is too large for
 * characters of several bytes. The peak contains the ranks of positions, which only many long repeats need.
 */
export function estimateBuildMemory({ entryCount, entryBytes, formBytes }: BuildSize): BuildMemory {
  const packedBytes = entryBytes + PACKED_HEADER * entryCount;
  const layerBytes = sizeOfLayer({
    entryCount,
    formBytes,
    entryBytes: packedBytes,
    idSeed: 0,
    lists: { beginnings: entryCount, wordStarts: 0, otherStarts: Math.max(0, formBytes - entryCount) },
  });
  const collector = packedBytes + formBytes + COLLECTED_ROW * entryCount;
  const scratch = WORD * formBytes;
  const ranks = WORD * formBytes;
  const wordStarts = formBytes / 8;
  return {
    layerBytes,
    peakBytes: layerBytes + collector + RANKED_ROW * entryCount + scratch + ranks + wordStarts + TABLES,
  };
}
