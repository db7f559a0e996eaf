import { randomUUID } from 'node:crypto';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';
import { poll } from './polling';

const NEVER_EXPIRES = -1;

/**
 * Row 24 of docs/design/chapter.md: SETNX, then EXPIRE. A caller that finds a lock without an expiry sets an expiry.
 */
export class SetnxExpireLock implements Contender {
  constructor(private readonly place: Place) {}

  acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    return poll(waitMs, () => this.attempt(name, ttlMs));
  }

  private async attempt(name: string, ttlMs: number): Promise<Permit | undefined> {
    const { redis, pause } = this.place;
    const identifier = randomUUID();
    if ((await redis.setnx(name, identifier)) === 1) {
      await pause();
      const until = monotonicMs() + ttlMs;
      await redis.pexpire(name, ttlMs);
      return { until, release: () => this.release(name, identifier) };
    }
    await pause();
    if ((await redis.ttl(name)) === NEVER_EXPIRES) {
      await pause();
      await redis.pexpire(name, ttlMs);
    }
    return undefined;
  }

  /**
   * Row 20 of docs/design/chapter.md: deletes the lock only if its holder is this caller. Repeats after a concurrent
   * change.
   */
  private async release(name: string, identifier: string): Promise<void> {
    const { redis, pause } = this.place;
    for (;;) {
      await redis.watch(name);
      await pause();
      if ((await redis.get(name)) !== identifier) {
        await redis.unwatch();
        return;
      }
      await pause();
      const deleted = await redis.multi().del(name).exec();
      if (deleted !== null) return;
    }
  }
}
