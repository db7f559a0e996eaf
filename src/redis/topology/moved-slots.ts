import { StoreFailure } from '../../base/errors';

const ADOPTIONS_IN_FLIGHT = 16;

/**
 * Adopts the epochs of a slot immediately after the slot has moved to another node. An epoch that is not adopted still
 * names the run of the former node. If such a slot moved again, no server could tell whether the node in between has
 * lost grants.
 */
export class MovedSlots {
  private readonly waiting = new Set<number>();
  private running = 0;

  constructor(
    private readonly adopt: (slot: number) => Promise<void>,
    private readonly onError: (error: Error) => void,
  ) {}

  add(slot: number): void {
    this.waiting.add(slot);
    if (this.running >= ADOPTIONS_IN_FLIGHT) return;
    this.running += 1;
    this.adoptWaiting()
      .finally(() => (this.running -= 1))
      .catch(this.onError);
  }

  private async adoptWaiting(): Promise<void> {
    for (const slot of this.waiting) {
      this.waiting.delete(slot);
      await this.adopt(slot).catch((error: unknown) => {
        // The slot has moved again, or the node takes no commands. The first command that needs the epoch tries again.
        if (!(error instanceof StoreFailure)) this.onError(error as Error);
      });
    }
  }
}
