import type { Clock } from '../base/clock';
import type { Identities } from '../base/identities';
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
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly identities: Identities;
  readonly limits: Limits;
  /** As in Lives. */
  readonly serverId: string;
  /** Receives the defects of background work. */
  readonly onDefect: (error: unknown) => void;
  readonly observer?: LeaseObserver | undefined;
}

/** A call that may get a grant by a command of another call. */
export interface GrantTaker {
  take(grant: Granted): void;
}

/** The state that all acquires and hold streams of one server share. */
export class LeaseContext {
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly onDefect: (error: unknown) => void;
  readonly observer: LeaseObserver | undefined;
  readonly timers: TimerQueue;
  readonly moments = new Moments();
  readonly queue: WaitQueue;
  readonly steps: BoundedSteps;
  readonly withdrawals: Withdrawals;
  /** The releases of leases that a stream of this server has lost. */
  readonly lateReleases: BackgroundCommands;
  readonly lives: Lives;
  readonly waitingCalls: WaitingCalls;
  readonly countedLeases: CountedLeases;
  readonly meters = new LeaseMeters();
  /** The acquires in progress, by attach. */
  readonly attempts = new Map<string, GrantTaker>();
  isDraining = false;
  private readonly identities: Identities;

  constructor({ store, clock, identities, limits, serverId, onDefect, observer }: LeaseOptions) {
    this.store = store;
    this.clock = clock;
    this.limits = limits;
    this.onDefect = onDefect;
    this.observer = observer;
    this.timers = new TimerQueue(clock);
    this.steps = new BoundedSteps(store, onDefect);
    this.queue = new WaitQueue(store, clock, this.timers, this.steps, this.moments, onDefect);
    this.withdrawals = new Withdrawals(store, clock, this.timers, onDefect);
    this.lateReleases = new BackgroundCommands(clock, this.timers, LATE_RELEASE_PAUSES, onDefect);
    this.waitingCalls = new WaitingCalls(limits.maxWaitingCallsPerConnection);
    this.countedLeases = new CountedLeases(clock, this.timers);
    this.lives = new Lives(serverId, limits.maxStreamAgeMs, () => identities.random());
    this.identities = identities;
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
    const isLock = resource.service === 'lock';
    const clientRequestId = request.requestId ?? this.identities.requestId();
    return {
      requestId: storedRequestId(call.identity, clientRequestId),
      clientRequestId,
      identity: call.identity,
      attach,
      secret: this.identities.secret(),
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
