import { setTimeout as sleep } from 'node:timers/promises';
import type { Resource, Service } from '../../src/engine/leases/lease';
import { permitsKeys } from '../../src/redis/keys';
import { eitherClient, type EitherClient } from '../support/clients/either-client';
import type { LeaseView } from '../support/clients/lease-client';
import { eventually } from '../support/eventually';
import type { Recorder } from '../support/history-recorder';
import type { FleetStore } from './fleet';
import type { Held } from './held';

export const PREFIX = 'holdfast';
const INTERVAL_MS = 200;
/** Of one look: a server that is stopped does not hold all the others up. */
const PATIENCE_MS = 5000;
const READ_END = `local time = redis.call('TIME')
return { time[1] * 1000000 + time[2], redis.call('ZSCORE', KEYS[1], ARGV[1]) or '' }`;

/**
 * Looks at what Redis and the service themselves say of some names, over and over, for the checkers to compare
 * with what clients believe. What cannot be asked right now, for the fault of the test, is left out.
 */
export class Observer {
  private readonly leases = new Map<string, Held>();
  private readonly names = new Set<string>();
  private readonly services = new Map<string, Service>();
  private readonly clients: Record<Service, EitherClient>;
  private stopped = false;
  private running: Promise<void> | undefined;

  constructor(
    private readonly redis: Pick<FleetStore, 'command'>,
    private readonly recorder: Recorder,
    /** A server that stays up. */
    address: string,
  ) {
    const options = { patienceMs: PATIENCE_MS };
    this.clients = {
      lock: eitherClient('lock', address, options),
      semaphore: eitherClient('semaphore', address, options),
    };
  }

  /** Which service a name belongs to: in one story there are no two things of one name. */
  know({ service, name }: Resource): void {
    this.services.set(name, service);
  }

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
    await this.see(name, `${count} to wait for ${name}`, (seen) => seen.waiterCount === count);
  }

  /** Waits until somebody else than this token's lease holds a name, offers included; their tokens. */
  async holdersOtherThan(name: string, token: bigint): Promise<number[]> {
    const others = (seen: LeaseView) => seen.holders.filter(({ fencingToken }) => fencingToken !== token);
    const found = await this.see(name, `another holder of ${name}`, (seen) => others(seen).length > 0);
    return others(found).map(({ fencingToken }) => Number(fencingToken));
  }

  /** Looks at a name until it is as wanted. */
  see(name: string, what: string, check: (seen: LeaseView) => boolean): Promise<LeaseView> {
    return eventually(what, async () => {
      const seen = await this.look(name);
      return check(seen) && seen;
    });
  }

  look(name: string): Promise<LeaseView> {
    return this.clients[this.serviceOf(name)].view(name);
  }

  serviceOf(name: string): Service {
    const service = this.services.get(name);
    if (service === undefined) throw new Error(`${name} is no name of this story`);
    return service;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  close(): void {
    for (const client of Object.values(this.clients)) client.close();
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      await Promise.all([
        ...[...this.leases.values()].map((held) => this.lookAtLease(held)),
        ...[...this.names].map((name) => this.lookAtHolders(name)),
      ]);
      await sleep(INTERVAL_MS);
    }
  }

  private async lookAtLease({ name, requestId, hash }: Held): Promise<void> {
    const [, ends = ''] = permitsKeys(PREFIX, { service: this.serviceOf(name), name });
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

  private async lookAtHolders(name: string): Promise<void> {
    const seen = await this.look(name).catch(() => undefined);
    if (seen === undefined) return;
    const tokens = seen.holders.map(({ fencingToken }) => Number(fencingToken));
    this.recorder.record({ type: 'holders_observed', name, tokens });
  }
}
