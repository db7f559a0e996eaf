/** A part of an arena's memory. Several threads may read and write the same block. */
export interface Block {
  readonly buffer: SharedArrayBuffer;
  readonly byteOffset: number;
  readonly byteLength: number;
}

interface Range {
  start: number;
  end: number;
}

/** Blocks begin at multiples of this number, so that every typed array can begin there. */
const ALIGNMENT = 64;
/** A typed array over a larger buffer would be slower. */
const MAX_BUFFER_BYTES = 2 ** 31;

/**
 * The memory of all layers. The arena never gives memory back to the system: V8 does not count shared memory, and would
 * collect dropped buffers much too late. The system takes no physical memory for parts that were never used. A block
 * begins at the lowest free place, so that used memory is used again first.
 */
export class MemoryArena {
  readonly #buffers: { readonly buffer: SharedArrayBuffer; readonly free: Range[] }[] = [];
  /** The bytes that no buffer has yet. */
  #restBytes: number;
  #usedBytes = 0;

  /** At most 2 GiB of `totalBytes` can be one block. The first block makes the first buffer. */
  constructor(totalBytes: number) {
    this.#restBytes = totalBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Undefined: no free range is large enough. The block may contain the bytes of an earlier block. */
  allocate(byteLength: number): Block | undefined {
    const size = sizeOf(byteLength);
    for (const { buffer, free } of this.#buffers) {
      const index = free.findIndex(({ start, end }) => end - start >= size);
      const range = free[index];
      if (range === undefined) continue;
      const byteOffset = range.start;
      range.start += size;
      if (range.start === range.end) free.splice(index, 1);
      this.#usedBytes += size;
      return { buffer, byteOffset, byteLength };
    }
    return this.#addBuffer() ? this.allocate(byteLength) : undefined;
  }

  /** False: the arena has all its buffers, or the system has no room for another one. */
  #addBuffer(): boolean {
    const byteLength = Math.floor(Math.min(this.#restBytes, MAX_BUFFER_BYTES) / ALIGNMENT) * ALIGNMENT;
    if (byteLength === 0) return false;
    try {
      const buffer = new SharedArrayBuffer(byteLength);
      this.#buffers.push({ buffer, free: [{ start: 0, end: byteLength }] });
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
    this.#restBytes -= byteLength;
    return true;
  }

  /** No thread may use the block any more. */
  free({ buffer, byteOffset, byteLength }: Block): void {
    const free = this.#buffers.find((one) => one.buffer === buffer)?.free;
    if (free === undefined) throw new Error('the block belongs to another arena');
    const size = sizeOf(byteLength);
    const freed = { start: byteOffset, end: byteOffset + size };
    const found = free.findIndex(({ start }) => start >= freed.end);
    const index = found < 0 ? free.length : found;
    const before = free[index - 1];
    if (before && before.end > freed.start) throw new Error('the block is already free');
    free.splice(index, 0, freed);
    joinNext(free, index);
    joinNext(free, index - 1);
    this.#usedBytes -= size;
  }
}

/** Joins a free range with the next range if there is nothing in between. */
function joinNext(free: Range[], index: number): void {
  const [range, next] = [free[index], free[index + 1]];
  if (range === undefined || next === undefined || range.end !== next.start) return;
  range.end = next.end;
  free.splice(index + 1, 1);
}

function sizeOf(byteLength: number): number {
  return Math.max(1, Math.ceil(byteLength / ALIGNMENT)) * ALIGNMENT;
}

/** Memory that is counted, and is freed once. */
export interface Reservation {
  free(): void;
}

/** Frees at least some memory. False: nothing can be freed. */
export type FreeSome = () => boolean;

/**
 * The memory for the indexes of all dictionaries, within one budget: the blocks of layers, small tables on the heap, and
 * the additional memory of builds. Bytes count until they are freed.
 */
export class IndexMemory {
  readonly #arena: MemoryArena;
  #reservedBytes = 0;

  constructor(readonly budgetBytes: number) {
    this.#arena = new MemoryArena(budgetBytes);
  }

  get usedBytes(): number {
    return this.#arena.usedBytes + this.#reservedBytes;
  }

  /** Counts memory outside the arena. Undefined: the budget has no room, also after `freeSome` has freed everything. */
  reserve(byteLength: number, freeSome: FreeSome): Reservation | undefined {
    return this.#makeRoom(byteLength, freeSome) ? this.count(byteLength) : undefined;
  }

  /** Counts memory outside the arena, also if the budget has no room: for small tables. */
  count(byteLength: number): Reservation {
    this.#reservedBytes += byteLength;
    let isFree = false;
    return {
      free: () => {
        if (!isFree) this.#reservedBytes -= byteLength;
        isFree = true;
      },
    };
  }

  /** Undefined: the budget has no room, or no free range is long enough. */
  allocate(byteLength: number, freeSome: FreeSome): Block | undefined {
    for (;;) {
      const block = this.#hasRoom(byteLength) ? this.#arena.allocate(byteLength) : undefined;
      if (block !== undefined || !freeSome()) return block;
    }
  }

  free(block: Block): void {
    this.#arena.free(block);
  }

  #makeRoom(byteLength: number, freeSome: FreeSome): boolean {
    while (!this.#hasRoom(byteLength)) if (!freeSome()) return false;
    return true;
  }

  #hasRoom(byteLength: number): boolean {
    return this.usedBytes + byteLength <= this.budgetBytes;
  }
}
