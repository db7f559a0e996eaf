import { setTimeout as sleep } from 'node:timers/promises';
import type { ExpiryObserved, Granted, History, Micros } from '../../support/history';
import { monotonicMicros } from '../../support/history-recorder';
import { readEnds } from '../../support/leases/lease-stored';
import type { FleetStore } from '../fleet';
import { PREFIX } from '../observer';
import type { Resource } from './traffic/traffic';

/** The stored leases of one name, and the store's time. One script reads both. */
interface Sample {
  readonly name: string;
  readonly before: Micros;
  readonly at: Micros;
  readonly redisTimeUs: Micros;
  /** The ends of the leases, by request id. */
  readonly ends: ReadonlyMap<string, Micros>;
}

const EVERY_MS = 250;
/** A name with few requests is sampled only in every n-th turn, to limit the load of Redis. */
const TURNS = 6;

/**
 * Samples the leases in the store, so that the checkers can compare them with the beliefs of the clients. Only the
 * clients know the lease of a stored entry, so the samples become events at the end of the round.
 */
export class StoreSampler {
  private readonly samples: Sample[] = [];
  private stopped = false;
  private running: Promise<void> | undefined;

  constructor(
    private readonly store: Pick<FleetStore, 'command'>,
    private readonly resources: readonly Resource[],
  ) {}

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  /** The samples of the leases that the history knows. */
  events(history: History): ExpiryObserved[] {
    const grants = new Map<string, Granted[]>();
    for (const event of history) {
      if (event.type !== 'granted') continue;
      const known = grants.get(event.name) ?? [];
      if (!known.some(({ lease }) => lease === event.lease)) known.push(event);
      grants.set(event.name, known);
    }
    let seq = 0;
    return this.samples.flatMap(({ name, ends, ...read }) =>
      leasesAround(grants.get(name) ?? [], read.before).flatMap(({ lease, requestId }) => {
        seq += 1;
        const expiryUs = ends.get(requestId) ?? null;
        return [{ type: 'expiry_observed', source: 'store', seq, name, lease, ...read, expiryUs } as const];
      }),
    );
  }

  private async run(): Promise<void> {
    for (let turn = 0; !this.stopped; turn += 1) {
      for (const [index, resource] of this.resources.entries()) {
        if (resource.share > 1 || (index + turn) % TURNS === 0) await this.sample(resource);
      }
      await sleep(EVERY_MS);
    }
  }

  /** Samples a name. A read that fails during a fault is left out. */
  private async sample({ service, name }: Resource): Promise<void> {
    const before = monotonicMicros();
    const found = await readEnds(this.store, PREFIX, { service, name }).catch(() => undefined);
    const at = monotonicMicros();
    if (found) this.samples.push({ name, before, at, ...found });
  }
}

/** The age up to which a lease is sampled. An older lease has ended, or the renewals of its stream show the lease. */
const RECENT: Micros = 12_000_000;

function leasesAround(grants: readonly Granted[], at: Micros): readonly Granted[] {
  return grants.filter((grant) => grant.at < at && grant.at > at - RECENT);
}
