import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';
import { poll } from './polling';

/** This unit is added to the end time of a lock (ms). The original adds a second, because the original counts seconds. */
const MARGIN_MS = 1;

type TakeOver = (name: string, ttlMs: number) => Promise<Permit | undefined>;

/** Row 26 of docs/design/chapter.md: the value is the end time of the lock on its holder's clock. */
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

  /** The end time and the permit of an attempt. */
  protected offer(name: string, ttlMs: number): { readonly end: number; readonly permit: Permit } {
    const { redis, clock, pause } = this.place;
    const until = monotonicMs() + ttlMs;
    const end = Math.floor(clock() + ttlMs + MARGIN_MS);
    // A holder deletes the key only if its lock has not ended.
    const release = async (): Promise<void> => {
      if (clock() >= end) return;
      await pause();
      await redis.del(name);
    };
    return { end, permit: { until, release } };
  }
}

/** Takes over by DEL and SETNX: two callers that saw the same dead lock may both get the lock. */
export class DelTakeOverLock extends EndTimeLock {
  constructor(place: Place) {
    super(place, async (name, ttlMs) => {
      await place.redis.del(name);
      await place.pause();
      return this.takeFree(name, ttlMs);
    });
  }
}

/** Takes over by GETSET: the first of several callers that saw the same dead lock gets the lock, and the others extend its end time. */
export class GetsetTakeOverLock extends EndTimeLock {
  constructor(place: Place) {
    super(place, async (name, ttlMs) => {
      const { end, permit } = this.offer(name, ttlMs);
      await place.pause();
      const before = await place.redis.getset(name, String(end));
      // Null means that the lock was released in the meantime, so the lock was free.
      return before === null || Number(before) < place.clock() ? permit : undefined;
    });
  }
}
