import { setTimeout as sleep } from 'node:timers/promises';

const READ_INTERVAL_MS = 50;
const TIMEOUT_MS = 300_000;

/** Waits until the value has not changed for this time. */
export async function unchanged(forMs: number, read: () => Promise<number>): Promise<void> {
  const startedAt = performance.now();
  let [value, since] = [await read(), performance.now()];
  while (performance.now() - since < forMs) {
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error('the value kept changing for 5 minutes');
    await sleep(READ_INTERVAL_MS);
    const now = await read();
    if (now !== value) [value, since] = [now, performance.now()];
  }
}
