import { TimerQueue } from '../../src/engine/leases/timer-queue';
import type { HoldfastError } from '../../src/engine/errors';
import { HeldLease } from '../../src/engine/leases/held-lease';
import type { Granted } from '../../src/engine/leases/permits-store';
import { RecordedSink } from './fake-call';
import { FakeStore, grantedAt } from './fake-store';
import { ManualClock, settled } from './manual-clock';

/** What an entry of the agenda may come late. */
export const SLOT_MS = 10;

export interface HeldLeaseSetting {
  readonly ttlMs?: number;
  /** How long before the grant the call was received. */
  readonly waitedMs?: number;
  readonly agesAt?: number;
  readonly granted?: Partial<Granted>;
}

/** A lease that a stream has just been granted, over a store that the test answers by hand. */
export class HeldLeaseFixture {
  readonly clock = new ManualClock(100_000);
  readonly store = new FakeStore(this.clock);
  readonly agenda = new TimerQueue(this.clock);
  readonly sink = new RecordedSink(this.clock);
  readonly start = this.clock.now();
  readonly receivedAt: number;
  readonly ttlMs: number;
  readonly lease: HeldLease;
  readonly defects: unknown[] = [];
  /** 'OK' or the reason of the stream's status; undefined while it lives. */
  status: string | undefined;

  constructor(setting: HeldLeaseSetting = {}) {
    const { ttlMs = 30_000, waitedMs = 0, agesAt = Infinity } = setting;
    this.ttlMs = ttlMs;
    this.receivedAt = this.start - waitedMs;
    this.lease = new HeldLease({
      store: this.store,
      clock: this.clock,
      timers: this.agenda,
      sink: this.sink,
      resource: { service: 'lock', name: 'hello' },
      requestId: 'request',
      attach: 's1.1s',
      receivedAt: this.receivedAt,
      granted: grantedAt(this.start, { ttlMs, remainingMs: ttlMs, ...setting.granted }),
      ageLimitAt: agesAt === Infinity ? this.start + 1e9 : agesAt,
      onDefect: (error) => void this.defects.push(error),
    });
    this.lease.done.then(
      () => (this.status = 'OK'),
      (error: HoldfastError) => (this.status = error.reason),
    );
  }

  /** Time since the grant. */
  get elapsed(): number {
    return this.clock.now() - this.start;
  }

  /** Until so long after the grant. */
  async until(elapsedMs: number): Promise<void> {
    await this.clock.advance(this.start + elapsedMs - this.clock.now());
    await settled();
  }

  /** Answers the renewal under way with a whole ttl, as of when it was sent. */
  async renew(values: Partial<Granted> = {}): Promise<void> {
    const sent = await this.store.next('renew');
    await sent.answer(grantedAt(sent.at, { ttlMs: this.ttlMs, remainingMs: this.ttlMs, ...values }));
  }

  /** When commands of that kind were sent, after the grant. */
  sentAt(verb: 'renew' | 'release'): number[] {
    return this.store.log.filter((entry) => entry.verb === verb).map(({ at }) => at - this.start);
  }
}
