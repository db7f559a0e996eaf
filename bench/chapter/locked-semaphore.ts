import type { Contender, Permit, Place } from './contender';
import { FairSemaphore } from './fair-semaphore';
import { poll } from './polling';
import { SetnxLock } from './setnx-lock';

const LOCK_WAIT_MS = 10;

/** Row 37 of docs/design/chapter.md: the fair semaphore. A lock lets only one caller at a time attempt an acquire. */
export class LockedSemaphore implements Contender {
  private readonly semaphore: FairSemaphore;
  private readonly lock: SetnxLock;

  constructor(place: Place) {
    this.semaphore = new FairSemaphore(place);
    this.lock = new SetnxLock(place);
  }

  acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    return poll(waitMs, () => this.attempt(name, ttlMs));
  }

  private async attempt(name: string, ttlMs: number): Promise<Permit | undefined> {
    const lock = await this.lock.acquire(`lock:${name}`, ttlMs, LOCK_WAIT_MS);
    if (lock === undefined) return undefined;
    try {
      return await this.semaphore.attempt(name, ttlMs);
    } finally {
      await lock.release();
    }
  }
}
