import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../support/monotonic';
import type { Permit } from './contender';

const INTERVAL_MS = 1;

/**
 * Rows 17, 19 and 28 of docs/design/chapter.md: makes at least one attempt, and repeats the attempt each millisecond
 * until the wait ends.
 */
export async function poll(
  waitMs: number,
  attempt: () => Promise<Permit | undefined>,
): Promise<Permit | undefined> {
  const end = monotonicMs() + waitMs;
  for (;;) {
    const permit = await attempt();
    if (permit !== undefined || monotonicMs() >= end) return permit;
    await sleep(INTERVAL_MS);
  }
}
