import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';
import { poll } from './polling';

/** A lock is over when its time lies in the past; the scheme adds one unit, a second where it counts seconds. */
const MARGIN_MS = 1;

/** How the lock of a dead holder is taken over. */
type TakeOver = (name: string, ttlMs: number) => Promise<Permit | undefined>;

/** Row 26: the value is the time at which the lock ends, by its holder's clock. */
class EndTimeLock implements Contender {
  constructor(
    protected readonly place: Place,
    private readonly takeOver: TakeOver,
  ) {}

  acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    return poll(waitMs, () => this.attempt(name, ttlMs));
  }

  private async attempt(name: string, ttlMs: number): Promise<Permit | undefined> {
    const { redis, clock, pause } = this.place;
    const permit = await this.takeFree(name, ttlMs);
    if (permit !== undefined) return permit;
    await pause();
    const stored = await redis.get(name);
    if (stored === null || Number(stored) >= clock()) return undefined;
    await pause();
    return this.takeOver(name, ttlMs);
  }

  protected async takeFree(name: string, ttlMs: number): Promise<Permit | undefined> {
    const { redis, pause } = this.place;
    const { end, permit } = this.offer(name, ttlMs);
    await pause();
    return (await redis.setnx(name, String(end))) === 1 ? permit : undefined;
  }

  /** What is held if the store agrees. */
  protected offer(name: string, ttlMs: number): { readonly end: number; readonly permit: Permit } {
    const { redis, clock, pause } = this.place;
    const until = monotonicMs() + ttlMs;
    const end = Math.floor(clock() + ttlMs + MARGIN_MS);
    // A slow holder looks first whether it is still its own.
    const release = async (): Promise<void> => {
      if (clock() >= end) return;
      await pause();
      await redis.del(name);
    };
    return { end, permit: { until, release } };
  }
}

/** DEL and SETNX: two who saw the same dead lock may both get it. */
export class DelTakeOverLock extends EndTimeLock {
  constructor(place: Place) {
    super(place, async (name, ttlMs) => {
      await place.redis.del(name);
      await place.pause();
      return this.takeFree(name, ttlMs);
    });
  }
}

/** GETSET: of several who saw the same dead lock the first gets it; the others only make it last longer. */
export class GetsetTakeOverLock extends EndTimeLock {
  constructor(place: Place) {
    super(place, async (name, ttlMs) => {
      const { end, permit } = this.offer(name, ttlMs);
      await place.pause();
      const before = await place.redis.getset(name, String(end));
      // Null: it was given back in the meantime, so it was free.
      return before === null || Number(before) < place.clock() ? permit : undefined;
    });
  }
}
