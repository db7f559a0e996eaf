import { StoreFailure } from '../../engine/errors';

/** How many adoptions are on their way at a time. */
const AT_A_TIME = 16;

/**
 * Adopts the buckets of slots that have come to a node from another, at once: one that nobody asks for would keep the epoch of the
 * node that it came from, and when it moves on nobody could tell what has been meanwhile.
 */
export class Arrivals {
  private readonly waiting = new Set<number>();
  private running = 0;

  constructor(
    private readonly adopt: (slot: number) => Promise<void>,
    private readonly onError: (error: Error) => void,
  ) {}

  add(slot: number): void {
    this.waiting.add(slot);
    if (this.running >= AT_A_TIME) return;
    this.running += 1;
    this.work()
      .finally(() => (this.running -= 1))
      .catch(this.onError);
  }

  private async work(): Promise<void> {
    for (const slot of this.waiting) {
      this.waiting.delete(slot);
      await this.adopt(slot).catch((error: unknown) => {
        // They are elsewhere by now, or nothing can be done there: whoever needs them tries again.
        if (!(error instanceof StoreFailure)) this.onError(error as Error);
      });
    }
  }
}
