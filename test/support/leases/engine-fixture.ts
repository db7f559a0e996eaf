import type { Clock } from '../../../src/base/clock';
import { HoldfastError, type Reason } from '../../../src/base/errors';
import type { Identities } from '../../../src/base/runtime';
import {
  defaultLimits,
  expireOffsetMs,
  type Lease,
  type Limits,
  type Service,
} from '../../../src/leases/lease';
import type { AcquireRequest, Renewal } from '../../../src/leases/lease-requests';
import type { LeaseStore, RenewReply, Waiting } from '../../../src/leases/lease-store';
import { Leases } from '../../../src/leases/leases';
import { acquireRequest, FakeCall, type FakeCallOptions, RecordedSink, RecordedViews } from '../fake-call';
import { EMPTY_SNAPSHOT, FakeStore, type Sent, waitingAt } from './fake-store';
import { ManualClock, settled, runtimeOn } from '../manual-clock';

/** A renewal that keeps the ttl and the metadata of the lease. */
export const UNCHANGED: Renewal = { ttlMs: undefined, metadata: undefined };

/** Predictable ids that count up, and a jitter that the test sets. */
export class CountedIdentities implements Identities {
  jitter = 0;

  /** The engines of one test need different first numbers. */
  constructor(private made = 0) {}

  requestId(): string {
    return `0190a0a0-0000-7000-8000-${this.next().padStart(12, '0')}`;
  }

  secret(): string {
    return Buffer.from(this.next().padStart(16, '0')).toString('base64url');
  }

  random(): number {
    return this.jitter;
  }

  private next(): string {
    this.made += 1;
    return String(this.made);
  }
}

/** A call of the engine, and its result so far. */
export class Pending<Result, Sink = RecordedSink> {
  result: Result | undefined;
  error: unknown;
  over = false;

  constructor(
    readonly call: FakeCall,
    readonly sink: Sink,
    promise: Promise<Result>,
  ) {
    promise.then(
      (result) => {
        this.result = result;
        this.over = true;
      },
      (error: unknown) => {
        this.error = error;
        this.over = true;
      },
    );
  }

  /** The result. Throws if there is no result. */
  get value(): NonNullable<Result> {
    if (this.result === undefined || this.result === null) {
      throw new Error(this.over ? `no result, but ${String(this.error)}` : 'still in flight');
    }
    return this.result;
  }

  /** 'OK', the reason of its error, 'DEFECT' for another error, or 'waiting' while the call is in flight. */
  get outcome(): Reason | 'OK' | 'waiting' | 'DEFECT' {
    if (!this.over) return 'waiting';
    if (this.error === undefined) return 'OK';
    return this.error instanceof HoldfastError ? this.error.reason : 'DEFECT';
  }

  get failure(): HoldfastError {
    if (this.error instanceof HoldfastError) return this.error;
    throw new Error(`no failure, but ${this.outcome}: ${String(this.error)}`);
  }
}

/** The engine of one server, on a given store, and on a manual clock or a clock with another rate. */
export class EngineFixture<Store extends LeaseStore = FakeStore, ServerClock extends Clock = ManualClock> {
  readonly identities: CountedIdentities;
  readonly defects: unknown[] = [];
  readonly permits: Leases;

  constructor(
    readonly clock: ServerClock,
    readonly store: Store,
    limits: Partial<Limits> = {},
    readonly serverId = 's1',
  ) {
    const [serverNumber = 1] = /\d+$/.exec(serverId)?.map(Number) ?? [];
    this.identities = new CountedIdentities((serverNumber - 1) * 1_000_000);
    this.permits = new Leases({
      runtime: runtimeOn(clock, {
        identities: this.identities,
        defect: (error) => void this.defects.push(error),
      }),
      store,
      limits: { ...defaultLimits, ...limits },
      serverId,
    });
  }

  static onFakeStore(limits: Partial<Limits> = {}): EngineFixture {
    const clock = new ManualClock(1_000_000);
    return new EngineFixture(clock, new FakeStore(clock), limits);
  }

  acquire(
    values: Partial<AcquireRequest> = {},
    options: FakeCallOptions = {},
    service: Service = 'lock',
  ): Pending<Lease> {
    const call = new FakeCall(this.clock, options);
    const promise = this.permits.acquire(call, service, acquireRequest(values));
    return new Pending(call, new RecordedSink(this.clock), promise);
  }

  hold(
    values: Partial<AcquireRequest> = {},
    options: FakeCallOptions = {},
    service: Service = 'lock',
  ): Pending<void> {
    const call = new FakeCall(this.clock, options);
    const sink = new RecordedSink(this.clock);
    const request = acquireRequest(values);
    return new Pending(call, sink, this.permits.hold(call, service, { kind: 'acquire', request }, sink));
  }

  attach(leaseId: string, options: FakeCallOptions = {}, service: Service = 'lock'): Pending<void> {
    const call = new FakeCall(this.clock, options);
    const sink = new RecordedSink(this.clock);
    return new Pending(call, sink, this.permits.hold(call, service, { kind: 'attach', leaseId }, sink));
  }

  watch(
    name = 'hello',
    service: Service = 'lock',
    options: FakeCallOptions = {},
    sink = new RecordedViews(),
  ): Pending<void, RecordedViews> {
    const call = new FakeCall(this.clock, options);
    return new Pending(call, sink, this.permits.watch(call, service, name, sink));
  }

  /** Expects that the engine has no waiter, no held lease, no timer and no defect. */
  expectRest(clockIsShared = false): void {
    expect(this.permits.stats()).toEqual({
      waitingCount: 0,
      heldCount: 0,
      waitedNameCount: 0,
      timerCount: 0,
      givingBackCount: 0,
      watchStreamCount: 0,
      watchReaderCount: 0,
    });
    if (!clockIsShared && this.clock instanceof ManualClock) expect(this.clock.timerCount).toBe(0);
    expect(this.defects).toEqual([]);
  }
}

/** Answers the next acquire of a fake store with a place in the queue. */
export async function answerWaiting(
  on: EngineFixture,
  values: Partial<Waiting> = {},
): Promise<Sent<'acquire'>> {
  const sent = await on.store.next('acquire');
  await sent.answer(waitingAt(sent.at, values));
  return sent;
}

/** Answers the touch in flight. By default every waiter has position 1. */
export async function answerTouch(
  on: EngineFixture,
  states?: readonly (number | 'recheck' | 'superseded')[],
  snapshot = { ...EMPTY_SNAPSHOT, waiterCount: 1 },
): Promise<Sent<'touch'>> {
  const sent = await on.store.next('touch');
  await sent.answer({ snapshot, waiters: states ?? sent.command.map(() => 1) });
  return sent;
}

export async function answerRenewal(on: EngineFixture, reply: RenewReply): Promise<void> {
  await (await on.store.next('renew')).answer(reply);
  await settled();
}

/** The lease that a call has reported to its client. */
export function leaseOf({ result, sink }: Pending<unknown>): Lease | undefined {
  const reported = sink.events.find((event) => event.kind === 'granted');
  return (result as Lease | undefined) ?? reported?.lease;
}

/** Ends the client's belief in its lease, without a message to the engine. */
export function stopBelieving(pending: Pending<unknown>): void {
  pending.sink.send({ kind: 'released' });
}

/**
 * The leases in which clients believe, by token. A belief ends at the offset, at a release or at a loss. A revocation does
 * not end the belief, because the client may not have received the event.
 */
export function believedLeases(calls: readonly Pending<unknown>[], now: number): Map<bigint, Lease> {
  const believed = new Map<bigint, Lease>();
  const ended = new Set<bigint>();
  for (const pending of calls) {
    const lease = leaseOf(pending);
    if (lease === undefined) continue;
    const { events } = pending.sink;
    const { receivedAt } = pending.call;
    const ends = [lease.end, ...events.flatMap((event) => (event.kind === 'renewed' ? [event.end] : []))];
    const offset = Math.max(...ends.map((end) => expireOffsetMs(receivedAt, end)));
    const isOver = events.some(
      (event) => event.kind === 'released' || (event.kind === 'lost' && event.cause !== 'revoked'),
    );
    if (isOver) ended.add(lease.fencingToken);
    if (receivedAt + offset > now) believed.set(lease.fencingToken, lease);
  }
  for (const token of ended) believed.delete(token);
  return believed;
}
