import { eventually } from '../../support/eventually';
import { readEndsAt } from '../../support/leases/lease-stored';
import type { RedisProcess } from '../../support/processes/redis-process';
import type { SuiteStore } from './stores/store';
import { PREFIX } from '../observer';

/** The end of each lease (us, by the store's clock), by key and request id. */
export type StoredLeases = ReadonlyMap<string, number>;

const PATIENCE = { timeoutMs: 15_000, everyMs: 100 };

/** Reads the store directly, without a server, to measure the effects of faults. */
export class StoreView {
  constructor(private readonly store: SuiteStore) {}

  /** The leases that are held now. Waits for a node that is starting. */
  leases(): Promise<StoredLeases> {
    return eventually('every master to show its leases', () => this.heldNow(), PATIENCE);
  }

  private async heldNow(): Promise<StoredLeases> {
    const found = new Map<string, number>();
    for (const redis of await this.store.masters()) {
      for (const key of await keysOf(redis, `${PREFIX}:{*}:??:state:*`)) {
        const stored = await readEndsAt(redis, key);
        if (stored === undefined) throw new Error(`the leases of ${key} could not be read`);
        for (const [id, end] of stored.ends) if (end > stored.redisTimeUs) found.set(`${key} ${id}`, end);
      }
    }
    return found;
  }

  /** The number of these leases that have not expired and are missing in the store. */
  async missing(before: StoredLeases): Promise<number> {
    const after = await this.leases();
    const now = await this.timeUs();
    return [...before].filter(([lease, end]) => end > now && !after.has(lease)).length;
  }

  async timeUs(): Promise<number> {
    const [redis] = await this.store.masters();
    if (redis === undefined) throw new Error('the store has no master now');
    return timeUs(redis);
  }

  /** The number of scripts and calls of the library that ran since the start of the store. */
  async scriptRuns(redis: RedisProcess): Promise<number> {
    const stats = String(await redis.command('INFO', 'commandstats'));
    const counts = [...stats.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+)/gm)];
    return counts.reduce((sum, [, calls]) => sum + Number(calls), 0);
  }

  async info(redis: RedisProcess, section: string, field: string): Promise<number> {
    const text = String(await redis.command('INFO', section));
    return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(text)?.[1] ?? NaN);
  }

  /** The number of commands that Redis refused with an error, such as OOM, since its start. */
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
