import { randomUUID } from 'node:crypto';
import { monotonicMs } from '../support/monotonic';
import type { Place } from './contender';
import type { Attempt } from './polling';

/**
 * Row 34 of docs/design/chapter.md: a counter gives the order, and each permit has an expiring key. The algorithm reads
 * no caller's clock.
 */
export const expiringKeysSemaphore: Attempt = async (place, name, ttlMs) => {
  const { redis, limit, pause } = place;
  await removeExpired(place, name);
  const identifier = randomUUID();
  const count = await redis.incr(`${name}:counter`);
  await pause();
  const setAt = monotonicMs();
  await redis.set(keyOf(name, identifier), '1', 'PX', ttlMs);
  await pause();
  await redis.zadd(name, count, identifier);
  await pause();
  const rank = await redis.zrank(name, identifier);
  const release = async (): Promise<void> => {
    await redis.zrem(name, identifier);
    await redis.del(keyOf(name, identifier));
  };
  // If there is no rank, another caller has removed this permit as expired.
  if (rank !== null && rank < limit) return { until: setAt + ttlMs, release };
  await pause();
  await release();
  return undefined;
};

async function removeExpired({ redis, pause }: Place, name: string): Promise<void> {
  for (const identifier of await redis.zrange(name, 0, '-1')) {
    await pause();
    if ((await redis.exists(keyOf(name, identifier))) === 0) await redis.zrem(name, identifier);
  }
}

function keyOf(name: string, identifier: string): string {
  return `${name}:permit:${identifier}`;
}
