import { MemoryArena, type Block } from './memory-arena';

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
