import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

const MOST = 10;
/** Follows on the last letter, and is in no name. */
const AFTER_LETTERS = '{';

/**
 * Rows 6 to 9: a sorted set of names, all with score 0. Two markers are put around those that begin with a prefix, what
 * lies between them is read, and whoever else writes to the set meanwhile makes it start again.
 */
export class MarkerCompletion {
  /** How often a transaction did not take place. */
  retries = 0;

  constructor(
    private readonly redis: Redis,
    private readonly set: string,
    /** Stands between two steps: as a rule it resolves at once. */
    private readonly pause: () => Promise<void> = () => Promise.resolve(),
  ) {}

  async complete(prefix: string): Promise<string[]> {
    const [start, end] = markersAround(prefix);
    await this.redis.zadd(this.set, '0', start, '0', end);
    for (;;) {
      await this.redis.watch(this.set);
      const first = await this.redis.zrank(this.set, start);
      const last = await this.redis.zrank(this.set, end);
      if (first === null || last === null) throw new Error('a marker is gone that nobody else knows');
      await this.pause();
      const replies = await this.redis
        .multi()
        .zrem(this.set, start, end)
        .zrange(this.set, String(first), String(Math.min(first + MOST - 1, last - 2)))
        .exec();
      if (replies === null) {
        this.retries += 1;
        continue;
      }
      const [error, names] = replies[1] ?? [];
      if (error) throw error;
      // Those that are left are other callers' markers.
      return (names as string[]).filter((name) => !name.includes(AFTER_LETTERS));
    }
  }
}

/** In the order of bytes: the last that is before the prefix, and the first after all that begin with it. */
function markersAround(prefix: string): [start: string, end: string] {
  const identifier = randomUUID();
  const before = String.fromCharCode(prefix.charCodeAt(prefix.length - 1) - 1);
  return [prefix.slice(0, -1) + before + AFTER_LETTERS + identifier, prefix + AFTER_LETTERS + identifier];
}
