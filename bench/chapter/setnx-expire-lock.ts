import { randomUUID } from 'node:crypto';
import { monotonicMs } from '../support/monotonic';
import type { Place } from './contender';
import type { Attempt } from './polling';

const NEVER_EXPIRES = -1;

/**
 * Row 24 of docs/design/chapter.md: SETNX, then EXPIRE. A caller that finds a lock without an expiry sets an expiry.
 */
export const setnxExpireLock: Attempt = async (place, name, ttlMs) => {
  const { redis, pause } = place;
  const identifier = randomUUID();
  if ((await redis.setnx(name, identifier)) === 1) {
    await pause();
    const until = monotonicMs() + ttlMs;
    await redis.pexpire(name, ttlMs);
    return { until, release: () => release(place, name, identifier) };
  }
  await pause();
  if ((await redis.ttl(name)) === NEVER_EXPIRES) {
    await pause();
    await redis.pexpire(name, ttlMs);
  }
  return undefined;
};

/**
 * Row 20 of docs/design/chapter.md: deletes the lock only if its holder is this caller. Repeats after a concurrent
 * change.
 */
async function release({ redis, pause }: Place, name: string, identifier: string): Promise<void> {
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
