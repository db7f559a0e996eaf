import { monotonicMs } from '../support/monotonic';
import type { Permit, Place } from './contender';
import type { Attempt } from './polling';

/** This unit is added to the end time of a lock (ms). The original adds a second, because the original counts seconds. */
const MARGIN_MS = 1;

/** Row 26 of docs/design/chapter.md: the value is the end time of the lock on its holder's clock. */
function endTimeLock(takeOver: Attempt): Attempt {
  return async (place, name, ttlMs) => {
    const { redis, clock, pause } = place;
    const permit = await takeFree(place, name, ttlMs);
    if (permit !== undefined) return permit;
    await pause();
    const stored = await redis.get(name);
    if (stored === null || Number(stored) >= clock()) return undefined;
    await pause();
    return takeOver(place, name, ttlMs);
  };
}

const takeFree: Attempt = async (place, name, ttlMs) => {
  const { end, permit } = offer(place, name, ttlMs);
  await place.pause();
  return (await place.redis.setnx(name, String(end))) === 1 ? permit : undefined;
};

/** The end time and the permit of an attempt. */
function offer({ redis, clock, pause }: Place, name: string, ttlMs: number): { end: number; permit: Permit } {
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

/** Takes over by DEL and SETNX: two callers that saw the same dead lock may both get the lock. */
export const delTakeOverLock = endTimeLock(async (place, name, ttlMs) => {
  await place.redis.del(name);
  await place.pause();
  return takeFree(place, name, ttlMs);
});

/** Takes over by GETSET: the first of several callers that saw the same dead lock gets the lock, and the others extend its end time. */
export const getsetTakeOverLock = endTimeLock(async (place, name, ttlMs) => {
  const { end, permit } = offer(place, name, ttlMs);
  await place.pause();
  const before = await place.redis.getset(name, String(end));
  // Null means that the lock was released in the meantime, so the lock was free.
  return before === null || Number(before) < place.clock() ? permit : undefined;
});
