import { StoreFailure } from '../engine/errors';

/** How many adoptions are on their way at a time. */
const AT_A_TIME = 16;

/**
 * Adopts buckets that have come to a node from another, at once: one that nobody asks for would keep the epoch of the
 * node that it came from, and when it moves on nobody could tell what has been meanwhile.
 */
export class Arrivals {
  private readonly waiting = new Set<readonly number[]>();
  private running = 0;

  constructor(
    private readonly adopt: (buckets: readonly number[]) => Promise<void>,
    private readonly onError: (error: Error) => void,
  ) {}

  /** Buckets of one slot, always the same array. */
  add(buckets: readonly number[]): void {
    this.waiting.add(buckets);
    if (this.running >= AT_A_TIME) return;
    this.running += 1;
    this.work()
      .finally(() => (this.running -= 1))
      .catch(this.onError);
  }

  private async work(): Promise<void> {
    for (const buckets of this.waiting) {
      this.waiting.delete(buckets);
      await this.adopt(buckets).catch((error: unknown) => {
        // They are elsewhere by now, or nothing can be done there: whoever needs them tries again.
        if (!(error instanceof StoreFailure)) throw error;
      });
    }
  }
}
