/** How many smaller builds may overtake a waiting build. */
const MOST_OVERTAKING = 8;

interface Waiting {
  readonly bytes: number;
  overtakenBy: number;
  readonly begin: () => void;
}

/** The builds of one thread, one after another: the smallest waiting build first, and none is overtaken for ever. */
export class BuildTurns {
  #isBusy = false;
  /** In the order of arrival. */
  readonly #waiting: Waiting[] = [];

  async run<T>(bytes: number, build: () => Promise<T>): Promise<T> {
    if (this.#isBusy) {
      await new Promise<void>((begin) => this.#waiting.push({ bytes, overtakenBy: 0, begin }));
    }
    this.#isBusy = true;
    try {
      return await build();
    } finally {
      this.#beginNext();
    }
  }

  #beginNext(): void {
    const next = this.#next();
    // The turn passes on directly, so no build that comes meanwhile takes it.
    if (next === undefined) this.#isBusy = false;
    else next.begin();
  }

  #next(): Waiting | undefined {
    const [oldest] = this.#waiting;
    if (oldest === undefined) return undefined;
    const next =
      oldest.overtakenBy >= MOST_OVERTAKING
        ? oldest
        : this.#waiting.reduce((least, one) => (one.bytes < least.bytes ? one : least));
    const at = this.#waiting.indexOf(next);
    for (const overtaken of this.#waiting.slice(0, at)) overtaken.overtakenBy += 1;
    this.#waiting.splice(at, 1);
    return next;
  }
}

/** The memory that a running build may still take. */
export interface BuildShare {
  /** The build needs this number of bytes in all. */
  set(bytes: number): void;
  end(): void;
}

/**
 * Lets builds run together as long as all of them fit into the budget by their largest possible needs. Other builds wait
 * for the end of earlier ones: a build that has begun must not fail because a later one has taken its memory.
 */
export class BuildShares {
  readonly #running = new Set<{ bytes: number }>();
  /** In the order of arrival. */
  readonly #waiting: { readonly bytes: number; readonly begin: (share: BuildShare) => void }[] = [];

  constructor(private readonly budgetBytes: number) {}

  /** A build alone may begin whatever it needs: whether it fits, only its entries can tell. */
  begin(bytes: number): Promise<BuildShare> {
    return new Promise((begin) => {
      this.#waiting.push({ bytes, begin });
      this.#admitWaiting();
    });
  }

  #shareOf(bytes: number): BuildShare {
    const share = { bytes };
    this.#running.add(share);
    return {
      set: (needed) => {
        share.bytes = needed;
        this.#admitWaiting();
      },
      end: () => {
        this.#running.delete(share);
        this.#admitWaiting();
      },
    };
  }

  #admitWaiting(): void {
    for (let [next] = this.#waiting; next && this.#hasRoom(next.bytes); [next] = this.#waiting) {
      this.#waiting.shift();
      next.begin(this.#shareOf(next.bytes));
    }
  }

  #hasRoom(bytes: number): boolean {
    if (this.#running.size === 0) return true;
    let sum = bytes;
    for (const running of this.#running) sum += running.bytes;
    return sum <= this.budgetBytes;
  }
}
