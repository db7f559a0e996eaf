import { setTimeout as sleep } from 'node:timers/promises';
import type { Lock } from '../../generated/typescript/holdfast/v1/lock_service';
import { permitsKeys } from '../../src/redis/keys';
import { LockClient } from '../support/lock-client';
import { eventually } from '../support/eventually';
import type { Recorder } from '../support/history-recorder';
import type { RedisProcess } from '../support/redis-process';
import type { Held } from './held';

export const PREFIX = 'holdfast';
const INTERVAL_MS = 200;
const READ_END = `local time = redis.call('TIME')
return { time[1] * 1000000 + time[2], redis.call('ZSCORE', KEYS[1], ARGV[1]) or '' }`;

/**
 * Looks at what Redis and the service themselves say of some names, over and over, for the checkers to compare
 * with what clients believe. What cannot be asked right now, for the fault of the test, is left out.
 */
export class Observer {
  private readonly leases = new Map<string, Held>();
  private readonly names = new Set<string>();
  private stopped = false;
  private running: Promise<void> | undefined;

  constructor(
    private readonly redis: RedisProcess,
    private readonly recorder: Recorder,
    /** A server that stays up. */
    private readonly address: string,
  ) {}

  watchName(name: string): void {
    this.names.add(name);
    this.running ??= this.run();
  }

  watchLease(held: Held): void {
    this.leases.set(held.hash, held);
    this.watchName(held.name);
  }

  /** Waits until so many are in the queue of a name. */
  async waiterCount(name: string, count: number): Promise<void> {
    await this.see(name, `${count} to wait for ${name}`, (lock) => lock.waiterCount === count);
  }

  /** Waits until somebody else than this token's lease holds a name, offers included; their tokens. */
  async holdersOtherThan(name: string, token: bigint): Promise<number[]> {
    const others = (lock: Lock) => lock.holders.filter(({ fencingToken }) => fencingToken !== token);
    const lock = await this.see(name, `another holder of ${name}`, (seen) => others(seen).length > 0);
    return others(lock).map(({ fencingToken }) => Number(fencingToken));
  }

  private async see(name: string, what: string, check: (lock: Lock) => boolean): Promise<Lock> {
    const client = new LockClient(this.address);
    try {
      return await eventually(what, async () => {
        const lock = await client.get(name);
        return check(lock) && lock;
      });
    } finally {
      client.close();
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async run(): Promise<void> {
    const client = new LockClient(this.address);
    while (!this.stopped) {
      await Promise.all([
        ...[...this.leases.values()].map((held) => this.lookAtLease(held)),
        ...[...this.names].map((name) => this.lookAtHolders(client, name)),
      ]);
      await sleep(INTERVAL_MS);
    }
    client.close();
  }

  private async lookAtLease({ name, requestId, hash }: Held): Promise<void> {
    const [, ends = ''] = permitsKeys(PREFIX, { service: 'lock', name });
    const before = this.recorder.now();
    const reply = await this.redis.command('EVAL', READ_END, 1, ends, requestId).catch(() => undefined);
    if (!Array.isArray(reply)) return;
    const [time, end] = reply as [string, string];
    this.recorder.record({
      type: 'expiry_observed',
      name,
      lease: hash,
      before,
      redisTimeUs: Number(time),
      expiryUs: end === '' ? null : Number(end),
    });
  }

  private async lookAtHolders(client: LockClient, name: string): Promise<void> {
    const lock = await client.get(name).catch(() => undefined);
    if (lock === undefined) return;
    const tokens = lock.holders.map(({ fencingToken }) => Number(fencingToken));
    this.recorder.record({ type: 'holders_observed', name, tokens });
  }
}
