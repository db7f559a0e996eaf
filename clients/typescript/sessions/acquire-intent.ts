import { randomUUID } from 'node:crypto';
import type {
  Holder,
  Lease as LeaseMessage,
  LockMode,
} from '../../../generated/typescript/holdfast/v1/lease';
import { AcquireLockRequest } from '../../../generated/typescript/holdfast/v1/lock_service';
import { AcquirePermitsRequest } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import type { CommandFailed } from '../../../generated/typescript/holdfast/v1/session_service';
import { now } from '../clock';
import { duration } from '../duration';
import { textOf, type HoldfastError } from '../errors';
import { LONGEST_TIMER_MS, NUMBERS } from '../numbers';
import type { Lease } from './lease';
import type { Command, CommandOwner, Event, OpenSession, Receipt } from './open-session';

/** No other server of this store grants either, and this may last, so no attempt follows the end of the wait. */
const TROUBLE_OF_STORE: ReadonlySet<string> = new Set(['QUARANTINED', 'STORE_UNAVAILABLE']);

export interface QueuePlace {
  /** The first waiter has position 1. */
  readonly position: number;
  readonly waiterCount: number;
  readonly holder: Holder | undefined;
}

/** What to acquire, without the fields that change from one attempt to the next. */
export interface Acquire {
  readonly kind: 'lock' | 'permits';
  readonly name: string;
  readonly ttlMs?: number | undefined;
  /** 0: try once. Undefined: until `signal` aborts. */
  readonly waitMs?: number | undefined;
  readonly maxHoldMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly metadata?: ReadonlyMap<string, string> | undefined;
  readonly onQueued?: ((place: QueuePlace) => void) | undefined;
  /** Only of a lock. */
  readonly mode?: LockMode;
  /** Only of permits. */
  readonly permitCount?: number | undefined;
  readonly initialLimit?: number | undefined;
  readonly exactLimit?: boolean | undefined;
}

/** What an intent asks of the client. */
export interface IntentKeeper {
  granted(
    intent: AcquireIntent,
    lease: LeaseMessage,
    receipt: Receipt,
    session: OpenSession,
    number: number,
  ): CommandOwner | void;
  cancelled(intent: AcquireIntent): void;
  failed(intent: AcquireIntent, failed: CommandFailed, session: OpenSession): void;
  acquireIsLate(intent: AcquireIntent): void;
  /** A function of the caller has thrown `error`, or has rejected with it. */
  callbackFailed(intent: AcquireIntent, error: string): void;
}

/** The intent to hold one lease. Repeated by the same `request_id` in each next session, until it has an answer. */
export class AcquireIntent implements CommandOwner {
  readonly promise: Promise<Lease>;
  /** The latest session that was sent the command. An older session does not speak for the intent. */
  home: OpenSession | undefined;
  commandId = 0;
  /** The number of failed attempts in a row. */
  attempts = 0;
  /** Why the last attempt failed. Undefined after an answer that lets the intent wait. */
  lastError: HoldfastError | undefined;
  /** An earlier attempt may have been granted unseen, so only an answer of a server or the ttl ends the intent. */
  isUncertain = false;
  /** The latest attempt has failed, and the next one is not sent yet. */
  isPausing = false;
  /** The lease after the grant. */
  lease: Lease | undefined;
  /** The caller does not want the lease any more. A late grant is released. */
  isAbandoned = false;
  private requestId = randomUUID();
  private isSecondId = false;
  private hasFailedCallback = false;
  private readonly startedAt = now();
  private readonly timer: NodeJS.Timeout | undefined;
  private settle!: { resolve: (lease: Lease) => void; reject: (error: Error) => void };

  constructor(
    readonly acquire: Acquire,
    private readonly keeper: IntentKeeper,
  ) {
    this.promise = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    const { waitMs } = acquire;
    const limitMs = (waitMs ?? Infinity) + NUMBERS.limits.answerAfterWaitMs;
    // The server ends a longer wait.
    if (limitMs <= LONGEST_TIMER_MS) this.timer = setTimeout(() => keeper.acquireIsLate(this), limitMs);
  }

  resolve(lease: Lease): void {
    clearTimeout(this.timer);
    this.settle.resolve(lease);
  }

  reject(error: Error): void {
    clearTimeout(this.timer);
    this.settle.reject(error);
  }

  /** Takes a new `request_id`, because the lease of the old one has ended unseen. False: that has happened before. */
  takeNewId(): boolean {
    if (this.isSecondId || this.isAbandoned) return false;
    this.isSecondId = true;
    this.requestId = randomUUID();
    return true;
  }

  /** What is left of the wait (ms). */
  get waitLeftMs(): number {
    return Math.max(0, (this.acquire.waitMs ?? Infinity) - (now() - this.startedAt));
  }

  /** Nobody waits for an attempt that was not carried out, or the trouble of the store outlasts the wait. */
  isPointlessAfter({ reason }: HoldfastError): boolean {
    if (this.isUncertain) return false;
    return this.isAbandoned || (TROUBLE_OF_STORE.has(reason) && this.waitLeftMs <= 0);
  }

  /** The last attempt comes at the end of the wait (ms), because the trouble of the store may end before. */
  longestPauseAfter({ reason }: HoldfastError): number {
    return TROUBLE_OF_STORE.has(reason) && !this.isUncertain ? this.waitLeftMs : Infinity;
  }

  /** The begin of the error after an answer of a server that decides nothing. */
  get putOff(): string {
    return `the servers put off the acquire of ${JSON.stringify(this.acquire.name)}`;
  }

  command(): Command {
    const { kind, name, ttlMs, waitMs, metadata, mode, permitCount, initialLimit } = this.acquire;
    const leftMs = waitMs === undefined ? undefined : this.waitLeftMs;
    const common = {
      name,
      requestId: this.requestId,
      ...(ttlMs !== undefined && { ttl: duration(ttlMs) }),
      ...(leftMs !== undefined && { waitTimeout: duration(leftMs) }),
      ...(metadata && { metadata: new Map(metadata) }),
    };
    if (kind === 'lock') {
      return { $case: 'acquireLock', value: AcquireLockRequest.create({ ...common, ...(mode && { mode }) }) };
    }
    const counts = {
      ...(permitCount !== undefined && { permitCount }),
      ...(initialLimit !== undefined && { initialLimit }),
    };
    return { $case: 'acquirePermits', value: AcquirePermitsRequest.create({ ...common, ...counts }) };
  }

  event(event: Event, receipt: Receipt, session: OpenSession, commandId: number): CommandOwner | void {
    const { $case, value } = event;
    if ($case === 'queued') this.queued(value);
    if ($case === 'granted' && value.lease) {
      return this.keeper.granted(this, value.lease, receipt, session, commandId);
    }
    if ($case === 'cancelled') this.keeper.cancelled(this);
    if ($case === 'failed') this.keeper.failed(this, value, session);
  }

  private queued(place: QueuePlace): void {
    this.lastError = undefined;
    if (this.isAbandoned) return;
    try {
      // An async function of the caller gives a promise, although the type has none.
      const given: unknown = this.acquire.onQueued?.(place);
      if (given instanceof Promise) given.catch((error: unknown) => this.callbackFailed(error));
    } catch (error) {
      this.callbackFailed(error);
    }
  }

  /** Told once for each intent, because a notice comes every 2 s. */
  private callbackFailed(error: unknown): void {
    if (this.hasFailedCallback) return;
    this.hasFailedCallback = true;
    this.keeper.callbackFailed(this, textOf(error));
  }
}
