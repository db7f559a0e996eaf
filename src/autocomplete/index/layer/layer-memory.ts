import { placesFor } from './id-table';
import type { EntryTable, Layer, SortedPositions } from './layer';
import { minimaLengths } from '../build/minima';

/** The lengths of the sorted lists of a suffix index. */
export interface ListLengths {
  readonly beginnings: number;
  readonly wordStarts: number;
  readonly otherStarts: number;
}

/** The numbers that decide where the arrays of a layer lie in its buffer. */
export interface LayerShape {
  readonly entryCount: number;
  /** The length of `forms`. */
  readonly formBytes: number;
  /** The length of `entries`. */
  readonly entryBytes: number;
  readonly idSeed: number;
  /** Undefined for a layer without sorted positions. */
  readonly lists: ListLengths | undefined;
}

/** A part of a buffer. The part begins at a multiple of 8 bytes. */
export interface MemoryBlock {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
}

/** A layer as one thread gives it to another thread. The layer lies at the beginning of the block. */
export interface LayerMemory extends MemoryBlock {
  readonly shape: LayerShape;
}

/** Memory of one thread, for a small layer. */
export function ownMemory(byteLength: number): MemoryBlock {
  return { buffer: new ArrayBuffer(byteLength), byteOffset: 0 };
}

/** The number of bytes that a layer takes. */
export function sizeOfLayer(shape: LayerShape): number {
  const { entryCount, formBytes, entryBytes, lists } = shape;
  const words = 2 * entryCount + 1 + placesFor(entryCount) + wordsOfLists(lists);
  const bytes = formBytes + entryBytes;
  return entryCount * Float64Array.BYTES_PER_ELEMENT + words * Uint32Array.BYTES_PER_ELEMENT + bytes;
}

function wordsOfLists(lists: ListLengths | undefined): number {
  if (lists === undefined) return 0;
  const { beginnings, wordStarts, otherStarts } = lists;
  const branches = beginnings;
  return branches + sumOf([beginnings, wordStarts, otherStarts].map(wordsOfList));
}

function wordsOfList(length: number): number {
  return length + sumOf(minimaLengths(length));
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/**
 * The arrays of a layer as views of its memory. The order in memory: first
 * the array with elements of 8 bytes, then those of 4 bytes, then those of 1 byte, so that each array is aligned. The
 * positions of the three lists are neighbours, because they are sorted as one array.
 */
export function openLayer({ buffer, byteOffset, shape }: LayerMemory): Layer {
  const { entryCount, lists } = shape;
  const views = new Views(buffer, byteOffset);
  const scores = views.floats(entryCount);
  const formsAt = views.words(entryCount + 1);
  const entryAt = views.words(entryCount);
  const ids = views.words(placesFor(entryCount));
  const sortedLists = lists && openLists(views, lists);
  const forms = views.bytes(shape.formBytes);
  const entries = views.bytes(shape.entryBytes);
  const table: EntryTable = {
    count: entryCount,
    forms,
    formsAt,
    scores,
    entries,
    entryAt,
    ids,
    idSeed: shape.idSeed,
  };
  return sortedLists === undefined ? table : { ...table, ...sortedLists };
}

function openLists(views: Views, lists: ListLengths) {
  const beginnings = views.words(lists.beginnings);
  const wordStarts = views.words(lists.wordStarts);
  const otherStarts = views.words(lists.otherStarts);
  const withMinima = (positions: Uint32Array): SortedPositions => ({
    positions,
    minima: [positions, ...minimaLengths(positions.length).map((length) => views.words(length))],
  });
  return {
    beginnings: withMinima(beginnings),
    wordStarts: withMinima(wordStarts),
    otherStarts: withMinima(otherStarts),
    branches: views.words(lists.beginnings),
  };
}

/** Divides a buffer into arrays, one after another. */
class Views {
  constructor(
    private readonly buffer: ArrayBufferLike,
    private end: number,
  ) {}

  floats(length: number): Float64Array {
    return new Float64Array(this.buffer, this.#take(length * Float64Array.BYTES_PER_ELEMENT), length);
  }

  words(length: number): Uint32Array {
    return new Uint32Array(this.buffer, this.#take(length * Uint32Array.BYTES_PER_ELEMENT), length);
  }

  bytes(length: number): Uint8Array {
    return new Uint8Array(this.buffer, this.#take(length), length);
  }

  #take(size: number): number {
    const from = this.end;
    this.end += size;
    return from;
  }
}
