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
