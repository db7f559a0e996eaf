import { eventually } from '../../support/eventually';
import type { RedisProcess } from '../../support/processes/redis-process';
import type { SuiteStore } from './stores/store';
import { PREFIX } from '../observer';

/** What a lease in the store is known by, and its end by the store's clock (us). */
export type StoredLeases = ReadonlyMap<string, number>;

const PATIENCE = { timeoutMs: 15_000, everyMs: 100 };

/** What the store says of itself, past all servers: by it a fault's effect is measured. */
export class StoreView {
  constructor(private readonly store: SuiteStore) {}

  /** Leases that are held now, by key and request. A node that was just started is waited for. */
  leases(): Promise<StoredLeases> {
    return eventually('every master to show its leases', () => this.heldNow(), PATIENCE);
  }

  private async heldNow(): Promise<StoredLeases> {
    const found = new Map<string, number>();
    for (const redis of await this.store.masters()) {
      const now = await timeUs(redis);
      for (const key of await keysOf(redis, `${PREFIX}:{*}:?:ends:*`)) {
        const reply = (await redis.command('ZRANGE', key, 0, -1, 'WITHSCORES')) as string[] | string[][];
        const pairs = reply.flat(); // by the older protocol it is flat already
        for (let i = 0; i < pairs.length; i += 2) {
          const end = Number(pairs[i + 1]);
          if (end > now) found.set(`${key} ${pairs[i]}`, end);
        }
      }
    }
    return found;
  }

  /** How many of these leases the store should have still and has not. */
  async missing(before: StoredLeases): Promise<number> {
    const after = await this.leases();
    const now = await this.timeUs();
    return [...before].filter(([lease, end]) => end > now && !after.has(lease)).length;
  }

  /** By the clock of one of them. */
  async timeUs(): Promise<number> {
    const [redis] = await this.store.masters();
    if (redis === undefined) throw new Error('this store has no master');
    return timeUs(redis);
  }

  /** How many scripts have run since the store was started. */
  async scriptRuns(redis: RedisProcess): Promise<number> {
    const stats = String(await redis.command('INFO', 'commandstats'));
    const counts = [...stats.matchAll(/^cmdstat_evalsha:calls=(\d+)|^cmdstat_eval:calls=(\d+)/gm)];
    return counts.reduce((sum, [, evalsha, plain]) => sum + Number(evalsha ?? plain), 0);
  }

  async info(redis: RedisProcess, section: string, field: string): Promise<number> {
    const text = String(await redis.command('INFO', section));
    return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(text)?.[1] ?? NaN);
  }

  /** How many commands Redis has refused for one reason, such as OOM, since it was started. */
  async refusals(redis: RedisProcess, error: string): Promise<number> {
    const stats = String(await redis.command('INFO', 'errorstats'));
    return Number(new RegExp(`^errorstat_${error}:count=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  }
}

async function timeUs(redis: RedisProcess): Promise<number> {
  const [seconds, micros] = (await redis.command('TIME')) as [string, string];
  return Number(seconds) * 1_000_000 + Number(micros);
}

async function keysOf(redis: RedisProcess, pattern: string): Promise<string[]> {
  const found: string[] = [];
  let cursor = '0';
  do {
    const [next, keys] = (await redis.command('SCAN', cursor, 'MATCH', pattern, 'COUNT', 1000)) as [
      string,
      string[],
    ];
    found.push(...keys);
    cursor = next;
  } while (cursor !== '0');
  return found;
}
