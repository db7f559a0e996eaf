import type { Attack } from './attack';
import { ACQUIRE_LOCK, acquireLock, sendAtOnce } from './attack';
import type { RawCall } from './frame-connection';

const CONNECTIONS = 50;
const CALLS_EACH = 1000;
const TTL_MS = 5000;
/** The length of a body that ends within its message. */
const PART_BYTES = 10;

/** A third of the calls has only headers, a third a part of a message, and a third a whole message without its end. */
function unfinishedCall(name: string, index: number): RawCall {
  const { body } = acquireLock({ name, ttlMs: TTL_MS, waitMs: 0 });
  const part = [undefined, body?.subarray(0, PART_BYTES), body][index % 3];
  return { path: ACQUIRE_LOCK, ...(part && { body: part }), halfClose: false };
}

export const unfinishedCalls: Attack = {
  name: 'unfinished-calls',
  title: '50 × 1,000 calls that are never half-closed',
  run: async (scene) => {
    const count = scene.scaled(CONNECTIONS);
    const calls = Array.from({ length: count * CALLS_EACH }, (_, index) =>
      unfinishedCall(`${scene.label}-${index}`, index),
    );
    await sendAtOnce(scene, count, calls);
  },
};
