import { randomUUID } from 'node:crypto';
import type { Attempt } from './polling';

/**
 * Row 25 of docs/design/chapter.md: acquires by SETNX and releases by DEL. The lock never expires, so the lock of a
 * dead holder never becomes free.
 */
export const setnxLock: Attempt = async ({ redis }, name) => {
  const release = async (): Promise<void> => void (await redis.del(name));
  return (await redis.setnx(name, randomUUID())) === 1 ? { until: Infinity, release } : undefined;
};
