import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../support/monotonic';
import type { Permit } from './contender';

const INTERVAL_MS = 1;

/** Row 17: tries, and tries again after a millisecond, until it is granted or the time is over. */
export async function poll(
  waitMs: number,
  attempt: () => Promise<Permit | undefined>,
): Promise<Permit | undefined> {
  const end = monotonicMs() + waitMs;
  while (monotonicMs() < end) {
    const permit = await attempt();
    if (permit !== undefined) return permit;
    await sleep(INTERVAL_MS);
  }
  return undefined;
}
