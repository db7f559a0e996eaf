import { setTimeout as sleep } from 'node:timers/promises';
import type { Resource, Service } from '../../src/leases/lease';
import { eitherClient, type EitherClient, type LeaseView } from '../support/clients/lease-client';
import { eventually } from '../support/eventually';
import type { Recorder } from '../support/history-recorder';
import { readEnds } from '../support/leases/lease-stored';
import type { FleetStore } from './fleet';
import type { Held } from './held';

export const PREFIX = 'holdfast';
const INTERVAL_MS = 200;
/** The timeout of one read, so that a paused server does not block the other reads. */
const READ_TIMEOUT_MS = 5000;

/**
 * Polls Redis and the service about some names, so that the checkers can compare both with the beliefs of the clients.
 * Reads that fail during a fault are left out.
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
    /** The address of a server that stays up. */
    address: string,
  ) {
    const options = { patienceMs: READ_TIMEOUT_MS };
    this.clients = {
      lock: eitherClient('lock', address, options),
      semaphore: eitherClient('semaphore', address, options),
    };
  }

  /** Notes the service of a name. A scenario uses each name for one service only. */
  register({ service, name }: Resource): void {
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

  /** Waits until `count` waiters are queued for a name. */
  async waiterCount(name: string, count: number): Promise<void> {
    await this.waitFor(name, `${count} waiters for ${name}`, (seen) => seen.waiterCount === count);
  }

  /** Waits until a name has holders or offers with other tokens than `token`, and returns these tokens. */
  async holdersOtherThan(name: string, token: bigint): Promise<number[]> {
    const others = (seen: LeaseView) => seen.holders.filter(({ fencingToken }) => fencingToken !== token);
    const found = await this.waitFor(name, `another holder of ${name}`, (seen) => others(seen).length > 0);
    return others(found).map(({ fencingToken }) => Number(fencingToken));
  }

  /** Polls a name until `check` accepts its state. */
  waitFor(name: string, what: string, check: (seen: LeaseView) => boolean): Promise<LeaseView> {
    return eventually(what, async () => {
      const seen = await this.read(name);
      return check(seen) && seen;
    });
  }

  read(name: string): Promise<LeaseView> {
    return this.clients[this.serviceOf(name)].view(name);
  }

  serviceOf(name: string): Service {
    const service = this.services.get(name);
    if (service === undefined) throw new Error(`this scenario has no name ${name}`);
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
        ...[...this.leases.values()].map((held) => this.readLease(held)),
        ...[...this.names].map((name) => this.readHolders(name)),
      ]);
      await sleep(INTERVAL_MS);
    }
  }

  private async readLease({ name, requestId, hash }: Held): Promise<void> {
    const before = this.recorder.now();
    const resource = { service: this.serviceOf(name), name };
    const found = await readEnds(this.redis, PREFIX, resource).catch(() => undefined);
    if (!found) return;
    this.recorder.record({
      type: 'expiry_observed',
      name,
      lease: hash,
      before,
      redisTimeUs: found.redisTimeUs,
      expiryUs: found.ends.get(requestId) ?? null,
    });
  }

  private async readHolders(name: string): Promise<void> {
    const seen = await this.read(name).catch(() => undefined);
    if (seen === undefined) return;
    const tokens = seen.holders.map(({ fencingToken }) => Number(fencingToken));
    this.recorder.record({ type: 'holders_observed', name, tokens });
  }
}
