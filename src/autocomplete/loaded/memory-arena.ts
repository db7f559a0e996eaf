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
