import { randomUUID } from 'node:crypto';
import { monotonicMs } from '../support/monotonic';
import type { Attempt } from './polling';

/** Deletes a lock only if the stored token is the caller's token. */
export const COMPARE_AND_DELETE =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

/** Rows 17 and 18 of docs/design/chapter.md: SET NX PX sets the token and the expiry in a single step. */
export const setNxPxLock: Attempt = async ({ redis, pause }, name, ttlMs) => {
  const identifier = randomUUID();
  const until = monotonicMs() + ttlMs;
  await pause();
  if ((await redis.set(name, identifier, 'PX', ttlMs, 'NX')) !== 'OK') return undefined;
  const release = async (): Promise<void> => void (await redis.eval(COMPARE_AND_DELETE, 1, name, identifier));
  return { until, release };
};
