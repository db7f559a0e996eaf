import { randomUUID } from 'node:crypto';
import { monotonicMs } from '../support/monotonic';
import type { Attempt } from './polling';
import { repliesOf } from './transaction';

/**
 * Rows 29 to 31 of docs/design/chapter.md: a sorted set of identifiers. The score of an identifier is the time of its
 * request on the caller's clock.
 */
export const basicSemaphore: Attempt = async ({ redis, limit, clock, pause }, name, ttlMs) => {
  const identifier = randomUUID();
  const stampedAt = monotonicMs();
  const now = clock();
  await pause();
  const replies = await repliesOf(
    redis
      .multi()
      .zremrangebyscore(name, '-inf', now - ttlMs)
      .zadd(name, now, identifier)
      .zrank(name, identifier),
  );
  const release = async (): Promise<void> => void (await redis.zrem(name, identifier));
  if (Number(replies.at(-1)) < limit) return { until: stampedAt + ttlMs, release };
  await pause();
  await release();
  return undefined;
};
