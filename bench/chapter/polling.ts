import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';

const INTERVAL_MS = 1;

/** One attempt of an acquire. Resolves to undefined if there is no grant. */
export type Attempt = (place: Place, name: string, ttlMs: number) => Promise<Permit | undefined>;

/**
 * Rows 17, 19 and 28 of docs/design/chapter.md: a contender that makes at least one attempt, and repeats the attempt each
 * millisecond until the wait ends.
 */
export function polling(attempt: Attempt): (place: Place) => Contender {
  return (place) => ({
    acquire: async (name, ttlMs, waitMs) => {
      const end = monotonicMs() + waitMs;
      for (;;) {
        const permit = await attempt(place, name, ttlMs);
        if (permit !== undefined || monotonicMs() >= end) return permit;
        await sleep(INTERVAL_MS);
      }
    },
  });
}
