import type { Attack } from './attack';
import { acquireLock, sendAtOnce } from './attack';

const CONNECTIONS = 40;
const CALLS_EACH = 1000;
const TTL_MS = 30_000;

/** Half of the connections keep the window of every answer closed. The other half never reads the socket. */
export const unreadAnswers: Attack = {
  name: 'unread-answers',
  title: '40 × 1,000 calls with answers that are never read',
  run: async (scene) => {
    const count = scene.scaled(CONNECTIONS);
    const calls = Array.from({ length: count * CALLS_EACH }, (_, index) =>
      acquireLock({ name: `${scene.label}-${index}`, ttlMs: TTL_MS, waitMs: 0 }),
    );
    const reads = (index: number) => (index % 2 === 0 ? 'no-messages' : 'nothing');
    await sendAtOnce(scene, count, calls, reads);
  },
};
