import { randomUUID } from 'node:crypto';
import { monotonicMs } from '../support/monotonic';
import type { Permit, Place } from './contender';
import { polling, type Attempt } from './polling';
import { setnxLock } from './setnx-lock';
import { repliesOf } from './transaction';

/**
 * Rows 32, 33, 35 and 36 of docs/design/chapter.md: a counter gives the order. Time stamps in another set show only
 * which permits have expired.
 */
export const fairSemaphore: Attempt = async (place, name, ttlMs) => {
  const { redis, limit, clock, pause } = place;
  const owners = `${name}:owner`;
  const identifier = randomUUID();
  const stampedAt = monotonicMs();
  const now = clock();
  await pause();
  const counted = await repliesOf(
    redis
      .multi()
      .zremrangebyscore(name, '-inf', now - ttlMs)
      .zinterstore(owners, 2, owners, name, 'WEIGHTS', 1, 0)
      .incr(`${name}:counter`),
  );
  await pause();
  const ranked = await repliesOf(
    redis
      .multi()
      .zadd(name, now, identifier)
      .zadd(owners, Number(counted.at(-1)), identifier)
      .zrank(owners, identifier),
  );
  if (Number(ranked.at(-1)) < limit) {
    return fairPermit(place, name, identifier, ttlMs, stampedAt + ttlMs);
  }
  await pause();
  await withdraw(place, name, identifier);
  return undefined;
};

/** Row 33 of docs/design/chapter.md: removes the identifier from both sets in a single transaction. */
async function withdraw({ redis }: Place, name: string, identifier: string): Promise<void> {
  await repliesOf(redis.multi().zrem(name, identifier).zrem(`${name}:owner`, identifier));
}

function fairPermit(place: Place, name: string, identifier: string, ttlMs: number, end: number): Permit {
  const { redis, clock, pause } = place;
  const permit = {
    until: end,
    /**
     * Row 35 of docs/design/chapter.md: a refresh that adds the identifier shows that the permit was lost, so the refresh
     * removes the identifier again.
     */
    refresh: async (): Promise<boolean> => {
      const until = monotonicMs() + ttlMs;
      const now = clock();
      await pause();
      const added = await redis.zadd(name, now, identifier);
      if (Number(added) === 0) {
        permit.until = until;
        return true;
      }
      await pause();
      await permit.release();
      return false;
    },
    release: () => withdraw(place, name, identifier),
  };
  return permit;
}

const LOCK_WAIT_MS = 10;

/** Row 37 of docs/design/chapter.md: the fair semaphore. A lock lets only one caller at a time attempt an acquire. */
export const lockedSemaphore: Attempt = async (place, name, ttlMs) => {
  const lock = await polling(setnxLock)(place).acquire(`lock:${name}`, ttlMs, LOCK_WAIT_MS);
  if (lock === undefined) return undefined;
  try {
    return await fairSemaphore(place, name, ttlMs);
  } finally {
    await lock.release();
  }
};
