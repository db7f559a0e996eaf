import { reportDefect, StoreFailure } from '../base/errors';
import type { Runtime } from '../base/runtime';
import { EarliestRun, type TimerQueue } from '../flow/timer-queue';
import { requestKey, type Resource, resourceKey, type Service } from './lease';
import type { Granted, LeaseStore, LeaseWanted, QueueSnapshot, TouchReply, Waiting } from './lease-store';
import type { BoundedSteps } from './withdrawals';

/**
 * Counts the steps of this server, to compare what the store has confirmed. The replies of the store may be handled in
 * another order than the store has made them, so the reply that is handled last proves nothing.
 */
export class Moments {
  private last = 0;

  /** A number above all numbers before. */
  next(): number {
    this.last += 1;
    return this.last;
  }
}

/**
 * Whether a call speaks for its request since a later time than another call of the request that this server knows. The
 * store ran the known call's command before `since`. So if a command that was sent after `since` was answered to the call as
 * the speaker, the store has made the call the speaker later. Otherwise the order is unknown, and the call must ask the
 * store (docs/design/leases.md, rule 3).
 */
export function speaksLater(
  /** Taken before the send of the last command that the store has answered to the call as the speaker. */
  confirmedAt: number,
  /** `since`: taken when this server learned that the known call speaks. Undefined: there is no other call. */
  known: { readonly since: number } | undefined,
): boolean {
  return known === undefined || confirmedAt > known.since;
}

/** The signals that wake a waiting call, the most urgent signal first. */
const signals = ['cancelled', 'superseded', 'granted', 'draining', 'given-up', 'ended', 'recheck'] as const;
export type Signal = (typeof signals)[number];

/** One call that waits in a queue of the store. */
export class Waiter {
  /** The place in the queue. Each claim sends the ticket, so a store that has lost its queue restores the place. */
  ticket: string;
  position: number;
  snapshot: QueueSnapshot;
  /** When the call was added to the calls that wait: a number of `Moments`. */
  since = 0;
  private readonly raised = new Set<Signal>();
  private wakeUp: (() => void) | undefined;

  constructor(
    readonly resource: Resource,
    readonly wanted: LeaseWanted,
    place: Pick<Waiting, 'ticket' | 'position' | 'snapshot'>,
    /** As in `speaksLater`. */
    public confirmedAt: number,
    private readonly onPosition: ((waiter: Waiter) => void) | undefined,
  ) {
    this.ticket = place.ticket;
    this.position = place.position;
    this.snapshot = place.snapshot;
  }

  raise(signal: Signal): void {
    this.raised.add(signal);
    this.wakeUp?.();
  }

  isRaised(signal: Signal): boolean {
    return this.raised.has(signal);
  }

  /** Resolves to the most urgent signal. `granted` and `recheck` are cleared; the other signals stay raised. */
  async next(): Promise<Signal> {
    for (;;) {
      const signal = signals.find((candidate) => this.raised.has(candidate));
      if (signal) {
        if (signal === 'granted' || signal === 'recheck') this.raised.delete(signal);
        return signal;
      }
      await new Promise<void>((resolve) => (this.wakeUp = resolve));
    }
  }

  update(position: number, snapshot: QueueSnapshot): void {
    this.position = position;
    this.snapshot = snapshot;
    this.onPosition?.(this);
  }
}

/** A name that calls of this server wait for. */
interface WaitedName {
  readonly resource: Resource;
  /** By request id, in the order in which touches ask about them. */
  readonly waiters: Map<string, Waiter>;
  readonly nextTouch: EarliestRun;
  touching: boolean;
  /** True: touch again as soon as the touch in flight is answered. */
  touchAgain: boolean;
  /** The number of waiters about which touches must still ask without a pause, because a reply may be lost. */
  mustAsk: number;
}

const TOUCH_INTERVAL_MS = 1000;
const RETRY_INTERVAL_MS = 250;
/** Delay between the earliest end of a lease and the touch for this end. */
const AFTER_END_MS = 5;
const SHORTEST_INTERVAL_MS = 25;
/** The bound of the touch script. If more calls wait, successive touches ask about different calls. */
const WAITERS_PER_TOUCH = 64;
const MAX_EARLY_HINTS = 1024;

/**
 * The waiting calls of this server. Touches keep the places of these calls in the store's queues. Each waited name is
 * touched every second, and once more when its earliest lease ends. So a lost hint costs at most a second. See
 * docs/design/leases.md, rule 6.
 */
export class WaitQueue {
  private readonly waitedNames = new Map<string, WaitedName>();
  private readonly earlyHints = new Set<string>();

  constructor(
    private readonly store: LeaseStore,
    private readonly runtime: Runtime,
    private readonly timers: TimerQueue,
    private readonly steps: BoundedSteps,
    private readonly moments: Moments,
  ) {}

  get waiterCount(): number {
    let count = 0;
    for (const waited of this.waitedNames.values()) count += waited.waiters.size;
    return count;
  }

  waiterCountOf(service: Service): number {
    let count = 0;
    for (const { resource, waiters } of this.waitedNames.values()) {
      if (resource.service === service) count += waiters.size;
    }
    return count;
  }

  get waitedNameCount(): number {
    return this.waitedNames.size;
  }

  *all(): Iterable<Waiter> {
    for (const waited of this.waitedNames.values()) yield* waited.waiters.values();
  }

  /**
   * Adds a call with a place that the store has confirmed. An older call of the same request is superseded. If another
   * call of the request waits and may be newer, the waiter is not added, and must claim.
   */
  add(waiter: Waiter): void {
    const { resource, wanted, snapshot } = waiter;
    const waited = this.waitedNameOf(resource);
    const known = waited.waiters.get(wanted.requestId);
    if (known === waiter) return;
    if (!speaksLater(waiter.confirmedAt, known)) return waiter.raise('recheck');
    known?.raise('superseded');
    waiter.since = this.moments.next();
    waited.waiters.set(wanted.requestId, waiter);
    if (this.takeEarlyHint(resource, wanted.requestId)) waiter.raise('recheck');
    this.scheduleTouch(waited, snapshot.earliestEndMs);
  }

  has(waiter: Waiter): boolean {
    const waited = this.waitedNames.get(resourceKey(waiter.resource));
    return waited?.waiters.get(waiter.wanted.requestId) === waiter;
  }

  remove(waiter: Waiter): void {
    const key = resourceKey(waiter.resource);
    const waited = this.waitedNames.get(key);
    if (waited?.waiters.get(waiter.wanted.requestId) !== waiter) return;
    waited.waiters.delete(waiter.wanted.requestId);
    if (waited.waiters.size > 0) return;
    waited.nextTouch.cancel();
    this.waitedNames.delete(key);
  }

  /** Wakes the call that waits for the request. Returns false if no call waits. */
  recheck(resource: Resource, requestId: string): boolean {
    const waiter = this.waitedNames.get(resourceKey(resource))?.waiters.get(requestId);
    waiter?.raise('recheck');
    return waiter !== undefined;
  }

  /** Keeps a hint that came before the reply to its request. Above MAX_EARLY_HINTS the oldest hint is dropped. */
  keepEarlyHint(resource: Resource, requestId: string): void {
    this.earlyHints.add(requestKey(resource, requestId));
    if (this.earlyHints.size <= MAX_EARLY_HINTS) return;
    for (const oldest of this.earlyHints) return void this.earlyHints.delete(oldest);
  }

  /** Returns whether a hint for the request came early, and forgets the hint. */
  takeEarlyHint(resource: Resource, requestId: string): boolean {
    return this.earlyHints.delete(requestKey(resource, requestId));
  }

  /**
   * Touches the resource of a new lease at the lease's end if no regular touch is due before. The next waiters know only
   * the end of the offer, or of the lease before.
   */
  touchAtEndOf(resource: Resource, { sentAt, remainingMs }: Granted): void {
    if (remainingMs >= TOUCH_INTERVAL_MS) return;
    this.timers.at(sentAt + remainingMs + AFTER_END_MS, () => this.steps.run(resource));
  }

  /** Asks about all waiters of a resource now, because a lost reply may have granted to some of them. */
  askAboutAll(resource: Resource): void {
    const waited = this.waitedNames.get(resourceKey(resource));
    if (!waited) return;
    waited.mustAsk = waited.waiters.size;
    // A touch that has failed is sent again after a pause.
    if (!waited.touching) this.scheduleTouchIn(waited, 0);
  }

  private waitedNameOf(resource: Resource): WaitedName {
    const key = resourceKey(resource);
    const known = this.waitedNames.get(key);
    if (known) return known;
    const waited: WaitedName = {
      resource,
      waiters: new Map(),
      nextTouch: new EarliestRun(this.timers, () => this.touchNow(waited)),
      touching: false,
      touchAgain: false,
      mustAsk: 0,
    };
    this.waitedNames.set(key, waited);
    return waited;
  }

  private scheduleTouch(waited: WaitedName, earliestEndMs: number | undefined): void {
    const untilEndMs =
      earliestEndMs === undefined ? Infinity : Math.max(earliestEndMs + AFTER_END_MS, SHORTEST_INTERVAL_MS);
    this.scheduleTouchIn(waited, Math.min(TOUCH_INTERVAL_MS, untilEndMs));
  }

  /** Never delays a scheduled touch, because new waiters must not postpone the touch. */
  private scheduleTouchIn({ nextTouch }: WaitedName, delayMs: number): void {
    nextTouch.by(this.runtime.clock.now() + delayMs);
  }

  private touchNow(waited: WaitedName): void {
    if (waited.touching) {
      waited.touchAgain = true;
      return;
    }
    waited.touching = true;
    waited.touchAgain = false;
    this.touch(waited)
      .then(
        (earliestEndMs) => this.scheduleTouch(waited, earliestEndMs),
        (error) => {
          reportDefect(error, this.runtime.defect);
          const isPaused = error instanceof StoreFailure && error.kind === 'quarantined';
          this.scheduleTouchIn(waited, isPaused ? TOUCH_INTERVAL_MS : RETRY_INTERVAL_MS);
        },
      )
      .then(() => {
        waited.touching = false;
        if (waited.waiters.size === 0) waited.nextTouch.cancel();
        else if (waited.touchAgain) this.touchNow(waited);
      })
      .catch(this.runtime.defect);
  }

  private async touch(waited: WaitedName): Promise<number | undefined> {
    const asked: Waiter[] = [];
    for (const waiter of waited.waiters.values()) {
      asked.push(waiter);
      if (asked.length === WAITERS_PER_TOUCH) break;
    }
    const reply = await this.store.touch(
      waited.resource,
      asked.map((waiter) => waiter.wanted),
    );
    this.updateWaiters(waited, asked, reply);
    waited.mustAsk = Math.max(0, waited.mustAsk - asked.length);
    if (waited.mustAsk > 0) waited.touchAgain = true;
    // The store has lost the queue: touches ask about every waiter now, and not only about 64 waiters in a second.
    if (waited.waiters.size > asked.length && reply.waiters.every((state) => state === 'recheck'))
      waited.touchAgain = true;
    return reply.snapshot.earliestEndMs;
  }

  private updateWaiters(waited: WaitedName, asked: readonly Waiter[], reply: TouchReply): void {
    for (const [index, waiter] of asked.entries()) {
      const state = reply.waiters[index];
      if (waited.waiters.get(waiter.wanted.requestId) !== waiter) continue; // the wait has ended
      if (waited.waiters.size > WAITERS_PER_TOUCH) {
        // The next touch asks about other waiters first. The place in the store's queue stays the same.
        waited.waiters.delete(waiter.wanted.requestId);
        waited.waiters.set(waiter.wanted.requestId, waiter);
      }
      if (typeof state === 'number') waiter.update(state, reply.snapshot);
      else if (state) waiter.raise(state);
    }
  }
}
