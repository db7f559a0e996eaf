import { reportDefect } from '../base/errors';
import { resourceKey, type Resource } from './lease';
import type { LeaseStore } from './lease-store';

/**
 * Continues the work that bounded scripts leave (docs/design/leases.md, rule 8). Each resource has one step in flight.
 * No request overtakes the queue in the meantime, because the store grants nothing past the head of the queue.
 */
export class BoundedSteps {
  /** By resource key. True: the resource needs one more step after the step in flight. */
  private readonly inFlight = new Map<string, boolean>();

  constructor(
    private readonly store: LeaseStore,
    private readonly onDefect: (error: unknown) => void,
  ) {}

  run(resource: Resource): void {
    const key = resourceKey(resource);
    if (this.inFlight.has(key)) this.inFlight.set(key, true);
    else void this.runSteps(resource, key);
  }

  private async runSteps(resource: Resource, key: string): Promise<void> {
    do {
      this.inFlight.set(key, false);
      // The touch names no waiter, because many steps may follow. After a failure, the next touch continues the work.
      await this.store.touch(resource, []).catch((error) => reportDefect(error, this.onDefect));
    } while (this.inFlight.get(key) === true);
    this.inFlight.delete(key);
  }
}
