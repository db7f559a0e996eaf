import { randomUUID } from 'node:crypto';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';
import { poll } from './polling';

const COMPARE_AND_DELETE =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

/**
 * Rows 17 and 18 of docs/design/chapter.md: SET NX PX sets the token and the expiry in a single step. The release
 * deletes the lock only if the stored token is the caller's token.
 */
export class SetNxPxLock implements Contender {
  constructor(private readonly place: Place) {}

  acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    const { redis, pause } = this.place;
    const identifier = randomUUID();
    const release = async (): Promise<void> =>
      void (await redis.eval(COMPARE_AND_DELETE, 1, name, identifier));
    return poll(waitMs, async () => {
      const until = monotonicMs() + ttlMs;
      await pause();
      const set = await redis.set(name, identifier, 'PX', ttlMs, 'NX');
      return set === 'OK' ? { until, release } : undefined;
    });
  }
}
