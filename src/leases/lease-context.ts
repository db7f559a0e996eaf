import type { Clock } from '../base/clock';
import type { Runtime } from '../base/runtime';
import { BackgroundCommands } from '../flow/backoff';
import { callDeadline, CountedLeases, WaitingCalls } from './allowance';
import { LATE_RELEASE_PAUSES } from './held-lease';
import { LeaseMeters, type LeaseObserver } from './lease-meters';
import { type Limits, LOCK_LIMIT, type Mode, type Resource } from './lease';
import { Moments, WaitQueue } from './wait-queue';
import type { CallRef, Granted, LeaseStore, LeaseWanted } from './lease-store';
import type { AcquireRequest } from './lease-requests';
import { storedRequestId } from './lease-id';
import { type Life, Lives } from './life';
import { TimerQueue } from '../flow/timer-queue';
import { BoundedSteps, Withdrawals } from './withdrawals';

export interface LeaseOptions {
  readonly runtime: Runtime;
  readonly store: LeaseStore;
  readonly limits: Limits;
  /** As in Lives. */
  readonly serverId: string;
  readonly observer?: LeaseObserver | undefined;
}

/** A call that may get a grant by a command of another call. */
export interface GrantTaker {
  take(grant: Granted): void;
}

/** The state that all acquires, hold streams and sessions of one server share. */
export class LeaseContext {
  readonly runtime: Runtime;
  /** Of `runtime`. */
  readonly clock: Clock;
  readonly store: LeaseStore;
  readonly limits: Limits;
  readonly observer: LeaseObserver | undefined;
  readonly timers: TimerQueue;
  readonly moments = new Moments();
  readonly queue: WaitQueue;
  readonly steps: BoundedSteps;
  readonly withdrawals: Withdrawals;
  /** The releases of leases that a stream or session of this server has lost. */
  readonly lateReleases: BackgroundCommands;
  readonly lives: Lives;
  readonly waitingCalls: WaitingCalls;
  readonly countedLeases: CountedLeases;
  readonly meters = new LeaseMeters();
  /** The acquires in progress, by attach. */
  readonly attempts = new Map<string, GrantTaker>();
  isDraining = false;

  constructor({ runtime, store, limits, serverId, observer }: LeaseOptions) {
    const { clock } = runtime;
    this.runtime = runtime;
    this.clock = clock;
    this.store = store;
    this.limits = limits;
    this.observer = observer;
    this.timers = new TimerQueue(clock);
    this.steps = new BoundedSteps(store, runtime);
    this.queue = new WaitQueue(store, runtime, this.timers, this.steps, this.moments);
    this.withdrawals = new Withdrawals(store, runtime, this.timers);
    this.lateReleases = new BackgroundCommands(runtime, this.timers, LATE_RELEASE_PAUSES);
    this.waitingCalls = new WaitingCalls(limits.maxWaitingCallsPerConnection);
    this.countedLeases = new CountedLeases(clock, this.timers);
    this.lives = new Lives(runtime, serverId, limits.maxStreamAgeMs);
  }

  /** Ends the work in the background, before the store is closed. */
  close(): void {
    this.withdrawals.close();
    this.lateReleases.close();
    this.countedLeases.close();
  }

  /**
   * Passes a direct grant to its call. If the call has ended, the grant is given back: a late copy of a command of the
   * call has queued the request again.
   */
  granted(resource: Resource, call: CallRef, grant: Granted): void {
    const attempt = this.attempts.get(call.attach);
    if (attempt) attempt.take(grant);
    else this.withdrawals.returnUnheard(resource, call, grant);
  }

  wanted({ call, attach }: Life, resource: Resource, request: AcquireRequest): LeaseWanted {
    const { identities } = this.runtime;
    const isLock = resource.service === 'lock';
    const clientRequestId = request.requestId ?? identities.requestId();
    return {
      requestId: storedRequestId(call.identity, clientRequestId),
      clientRequestId,
      identity: call.identity,
      attach,
      secret: identities.secret(),
      permits: isLock ? lockPermits(request.mode) : request.permitCount,
      mode: request.mode,
      holderId: request.holderId,
      metadata: request.metadata,
      ttlMs: request.ttlMs,
      initialLimit: isLock ? LOCK_LIMIT : request.initialLimit,
      caller: call.connection,
      sendBefore: callDeadline(call),
    };
  }
}

function lockPermits(mode: Mode): number {
  return mode === 'shared' ? 1 : LOCK_LIMIT;
}
