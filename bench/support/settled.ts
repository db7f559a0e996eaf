import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 50;
const AT_MOST_MS = 300_000;

/** Resolves when what is looked at has been the same for so long. */
export async function unchanged(forMs: number, look: () => Promise<number>): Promise<void> {
  const startedAt = performance.now();
  let [value, since] = [await look(), performance.now()];
  while (performance.now() - since < forMs) {
    if (performance.now() - startedAt > AT_MOST_MS)
      throw new Error('it has not come to rest within 5 minutes');
    await sleep(LOOK_MS);
    const now = await look();
    if (now !== value) [value, since] = [now, performance.now()];
  }
}
