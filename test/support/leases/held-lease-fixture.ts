import { BackgroundCommands } from '../../../src/flow/backoff';
import { TimerQueue } from '../../../src/flow/timer-queue';
import { CountedLeases } from '../../../src/leases/allowance';
import { expireOffsetMs, type LeaseEnd } from '../../../src/leases/lease';
import { LeaseMeters } from '../../../src/leases/lease-meters';
import { HeldLease, LATE_RELEASE_PAUSES } from '../../../src/leases/held-lease';
import { type Heartbeats, Lives } from '../../../src/leases/life';
import { Renewals } from '../../../src/leases/renewals';
import type { LeaseOwner } from '../../../src/leases/lease-requests';
import type { Granted } from '../../../src/leases/lease-store';
import { ALICE, FakeCall, RecordedSink } from '../fake-call';
import { FakeStore, grantedAt } from './fake-store';
import { ManualClock, settled, runtimeOn } from '../manual-clock';

/** The longest delay of an entry of the timer queue (ms). */
export const SLOT_MS = 10;

export interface HeldLeaseSetting {
  readonly ttlMs?: number;
  /** Time between the receipt of the call and the grant. */
  readonly waitedMs?: number;
  readonly ageLimitAt?: number;
  readonly granted?: Partial<Granted>;
  /** Of the client's session. Default: a hold stream. */
  readonly heartbeats?: Heartbeats;
  /** The bucket of the fake store is the length of the name, modulo 4. */
  readonly name?: string;
  /** Another lease of the same server. Default: a server of its own. */
  readonly beside?: HeldLeaseFixture;
}

/** A HeldLease directly after its grant, over a fake store. */
export class HeldLeaseFixture {
  readonly clock: ManualClock;
  readonly store: FakeStore;
  readonly timers: TimerQueue;
  readonly renewals: Renewals;
  readonly sink: RecordedSink;
  readonly start: number;
  /** The time from which the stream's offsets count. */
  readonly receivedAt: number;
  readonly ttlMs: number;
  readonly meters = new LeaseMeters();
  readonly lateReleases: BackgroundCommands;
  readonly lease: HeldLease;
  readonly defects: unknown[];
  /** The leases that are no longer held. */
  readonly forgotten: HeldLease[] = [];
  /** 'OK' or the reason of the stream's error. Undefined while the stream is open. */
  status: string | undefined;

  constructor(setting: HeldLeaseSetting = {}) {
    const { ttlMs = 30_000, waitedMs = 0, name = 'hello', heartbeats, beside } = setting;
    this.defects = beside?.defects ?? [];
    this.clock = beside?.clock ?? new ManualClock(100_000);
    this.store = beside?.store ?? new FakeStore(this.clock);
    this.timers = beside?.timers ?? new TimerQueue(this.clock);
    const runtime = runtimeOn(this.clock, { defect: (error) => void this.defects.push(error) });
    this.renewals = beside?.renewals ?? new Renewals(this.store, runtime);
    this.sink = new RecordedSink(this.clock);
    this.start = this.clock.now();
    this.ttlMs = ttlMs;
    this.receivedAt = this.start - waitedMs;
    this.lateReleases = new BackgroundCommands(runtime, this.timers, LATE_RELEASE_PAUSES);
    const context = {
      runtime,
      store: this.store,
      timers: this.timers,
      lateReleases: this.lateReleases,
      renewals: this.renewals,
      countedLeases: new CountedLeases(this.clock, this.timers),
      meters: this.meters,
      forget: (lease: HeldLease) => {
        this.renewals.delete(lease);
        this.forgotten.push(lease);
      },
    };
    const owner: LeaseOwner = {
      send: (event) => this.sink.send(event),
      hold: () => undefined,
      end: (error) => (this.status = error?.reason ?? 'OK'),
    };
    const lives = new Lives(runtime, 's1', Infinity);
    lives.ageLimitAt = () => setting.ageLimitAt ?? this.start + 1e9;
    const call = new FakeCall(this.clock, { identity: 'spiffe://example.org/alice' });
    const life = heartbeats
      ? lives.sessionLife(
          Object.assign(call, { speaker: 'client/1.1', heartbeats, onGivenUp: () => undefined }),
        )
      : lives.streamLife(call);
    this.lease = new HeldLease(
      {
        context,
        owner,
        life,
        resource: { service: 'lock', name },
        requestId: ALICE,
        since: 0,
      },
      grantedAt(this.start, { ttlMs, remainingMs: ttlMs, ...setting.granted }),
    );
  }

  /** Time since the grant. */
  get elapsed(): number {
    return this.clock.now() - this.start;
  }

  /** The offset of an event as the stream's client gets the offset (ms). */
  offsetOf({ end }: { readonly end: LeaseEnd }): number {
    return expireOffsetMs(this.receivedAt, end);
  }

  /** Advances the clock to this time after the grant. */
  async until(elapsedMs: number): Promise<void> {
    await this.clock.advance(this.start + elapsedMs - this.clock.now());
    await settled();
  }

  /** Answers the renewal in flight with a whole ttl, counted from its send. */
  async renew(values: Partial<Granted> = {}): Promise<void> {
    const sent = await this.store.next('renew');
    await sent.answer(grantedAt(sent.at, { ttlMs: this.ttlMs, remainingMs: this.ttlMs, ...values }));
  }

  /** The send times of these commands, counted from the grant. */
  sentAt(verb: 'renew' | 'release'): number[] {
    return this.store.log.filter((entry) => entry.verb === verb).map(({ at }) => at - this.start);
  }
}
