/** The search looks at the cancel flag after this number of steps: about 0.1 ms. */
const STEPS_BETWEEN_LOOKS = 1000;

/**
 * Counts the work of a search in steps. A step is about 0.1 µs on a server of 2020. A search stops soon after the bound
 * is reached or the cancel flag is set. A stopped search has no result, because a part of a result may be wrong.
 */
export class Work {
  #spent = 0;
  /** The number of steps at which `spend` looks at the bound and at the flag. */
  #nextLook: number;
  #stopped = false;

  /** `cancelFlag`: one number in shared memory. Another thread sets the number to 1 to cancel the search. */
  constructor(
    private readonly bound = Infinity,
    private readonly cancelFlag?: Int32Array,
  ) {
    this.#nextLook = cancelFlag ? 0 : bound;
  }

  /** Adds steps, also parts of steps. False: the search must stop. */
  spend(steps: number): boolean {
    this.#spent += steps;
    return this.#spent < this.#nextLook || this.#look();
  }

  get spent(): number {
    return this.#spent;
  }

  #look(): boolean {
    this.#stopped ||= this.#spent >= this.bound;
    this.#stopped ||= this.cancelFlag !== undefined && Atomics.load(this.cancelFlag, 0) !== 0;
    if (this.#stopped) this.#nextLook = 0;
    else if (this.cancelFlag) this.#nextLook = Math.min(this.bound, this.#spent + STEPS_BETWEEN_LOOKS);
    return !this.#stopped;
  }
}

/** The measured costs of the parts of a search, in steps. */
export const STEPS = {
  /** Looks up the next lowest position of some intervals. */
  nextLowest: 8,
  /** Finds the rank of a position. */
  rank: 0.5,
  /** Finds the kind by which an entry matches, in addition to its bytes. */
  entry: 2,
  /** Compares one byte of a form. */
  formByte: 0.01,
  /** Reads one element of a list of positions. */
  position: 0.015,
  /** Halves an interval: reads one element, and some bytes at its position. */
  halving: 1.5,
  /** Reads one character of a form and adds one row of edit distances. */
  editRow: 0.4,
  /** Reads the branch of an element of `beginnings`. */
  branch: 0.1,
  /** Reads the first byte of a form, with a cache miss. */
  farForm: 1.5,
  /** Calls the native search for bytes. */
  nativeSearch: 1,
  /** Passes one byte in the native search. */
  nativeByte: 0.004,
  /** Reads one rank of a table in order. */
  nextRank: 0.05,
} as const;

/** A step is about one read or write in an array: 2 to 20 ns. So a slice takes about 1 ms, and rarely more than 3 ms. */
const STEPS_OF_A_SLICE = 150_000;

/** Divides long work into slices. After each slice, `onSlice` may pause the thread, or throw to cancel the work. */
export class WorkMeter {
  #left = STEPS_OF_A_SLICE;
  #slices = 0;

  constructor(private readonly onSlice: () => void = () => undefined) {}

  /** All steps so far. */
  get steps(): number {
    return this.#slices * STEPS_OF_A_SLICE + STEPS_OF_A_SLICE - this.#left;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left <= 0) this.#endSlice();
  }

  #endSlice(): void {
    this.#left += STEPS_OF_A_SLICE;
    this.#slices += 1;
    this.onSlice();
  }
}

type GrowableArray = Uint8Array | Uint32Array | Float64Array;

/** An array that grows by less than this factor would be copied too often. */
const GROWTH = 1.5;

/** Returns an array of at least this length with the same elements: the array itself if it is long enough. */
export function grown<T extends GrowableArray>(array: T, neededLength: number): T {
  if (neededLength <= array.length) return array;
  const Constructor = array.constructor as new (length: number) => T;
  const larger = new Constructor(Math.max(neededLength, Math.ceil(array.length * GROWTH)));
  larger.set(array);
  return larger;
}
