import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

const MOST = 10;
/** The character after the last letter. No name contains it. */
const AFTER_LETTERS = '{';

/**
 * Rows 6 to 9 of docs/design/chapter.md: a sorted set of names, all with score 0. The completion puts two markers
 * around the names with the prefix, reads the names between the markers, and starts again after a write of another
 * client.
 */
export class MarkerCompletion {
  /** The number of transactions that were aborted. */
  retries = 0;

  constructor(
    private readonly redis: Redis,
    private readonly set: string,
    /** Called between two steps, for tests. */
    private readonly pause: () => Promise<void> = () => Promise.resolve(),
  ) {}

  async complete(prefix: string): Promise<string[]> {
    const [start, end] = markersAround(prefix);
    await this.redis.zadd(this.set, '0', start, '0', end);
    for (;;) {
      await this.redis.watch(this.set);
      const first = await this.redis.zrank(this.set, start);
      const last = await this.redis.zrank(this.set, end);
      if (first === null || last === null) throw new Error('a marker of this completion has disappeared');
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
      // A name with this character is a marker of another caller.
      return (names as string[]).filter((name) => !name.includes(AFTER_LETTERS));
    }
  }
}

/** The two markers in byte order: just before the prefix, and after all names with the prefix. */
function markersAround(prefix: string): [start: string, end: string] {
  const identifier = randomUUID();
  const before = String.fromCharCode(prefix.charCodeAt(prefix.length - 1) - 1);
  return [prefix.slice(0, -1) + before + AFTER_LETTERS + identifier, prefix + AFTER_LETTERS + identifier];
}
