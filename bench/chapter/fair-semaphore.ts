import { randomUUID } from 'node:crypto';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';
import { poll } from './polling';
import { repliesOf } from './transaction';

/**
 * Rows 32, 33, 35 and 36 of docs/design/chapter.md: a counter gives the order. Time stamps in another set show only
 * which permits have expired.
 */
export class FairSemaphore implements Contender {
  constructor(private readonly place: Place) {}

  acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    return poll(waitMs, () => this.attempt(name, ttlMs));
  }

  /** Attempts once. LockedSemaphore also calls this method. */
  async attempt(name: string, ttlMs: number): Promise<Permit | undefined> {
    const { redis, limit, clock, pause } = this.place;
    const owners = `${name}:owner`;
    const identifier = randomUUID();
    const stampedAt = monotonicMs();
    const now = clock();
    await pause();
    const counted = await repliesOf(
      redis
        .multi()
        .zremrangebyscore(name, '-inf', now - ttlMs)
        .zinterstore(owners, 2, owners, name, 'WEIGHTS', 1, 0)
        .incr(`${name}:counter`),
    );
    await pause();
    const ranked = await repliesOf(
      redis
        .multi()
        .zadd(name, now, identifier)
        .zadd(owners, Number(counted.at(-1)), identifier)
        .zrank(owners, identifier),
    );
    if (Number(ranked.at(-1)) < limit) {
      return new FairPermit(this.place, name, identifier, ttlMs, stampedAt + ttlMs);
    }
    await pause();
    await withdraw(this.place, name, identifier);
    return undefined;
  }
}

/** Row 33 of docs/design/chapter.md: removes the identifier from both sets in a single transaction. */
async function withdraw({ redis }: Place, name: string, identifier: string): Promise<void> {
  await repliesOf(redis.multi().zrem(name, identifier).zrem(`${name}:owner`, identifier));
}

class FairPermit implements Permit {
  constructor(
    private readonly place: Place,
    private readonly name: string,
    private readonly identifier: string,
    private readonly ttlMs: number,
    public until: number,
  ) {}

  /**
   * Row 35 of docs/design/chapter.md: a refresh that adds the identifier shows that the permit was lost, so the refresh
   * removes the identifier again.
   */
  async refresh(): Promise<boolean> {
    const { redis, clock, pause } = this.place;
    const until = monotonicMs() + this.ttlMs;
    const now = clock();
    await pause();
    const added = await redis.zadd(this.name, now, this.identifier);
    if (Number(added) === 0) {
      this.until = until;
      return true;
    }
    await pause();
    await this.release();
    return false;
  }

  async release(): Promise<void> {
    await withdraw(this.place, this.name, this.identifier);
  }
}
