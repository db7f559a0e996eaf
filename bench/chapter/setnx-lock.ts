import { randomUUID } from 'node:crypto';
import type { Contender, Permit, Place } from './contender';
import { poll } from './polling';

/**
 * Row 25 of docs/design/chapter.md: acquires by SETNX and releases by DEL. The lock never expires, so the lock of a
 * dead holder never becomes free.
 */
export class SetnxLock implements Contender {
  constructor(private readonly place: Place) {}

  acquire(name: string, _ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    const { redis } = this.place;
    const release = async (): Promise<void> => void (await redis.del(name));
    return poll(waitMs, async () =>
      (await redis.setnx(name, randomUUID())) === 1 ? { until: Infinity, release } : undefined,
    );
  }
}
