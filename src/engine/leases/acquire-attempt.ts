import type { Call } from '../call';
import { StoreFailure } from '../errors';
import { callCancelled, notGranted, notWithdrawn, refusal } from './acquire-refusals';
import type { AttemptFacts, WaitEnding } from './acquire-refusals';
import type { WaitEnd } from './call-end';
import { hasOffsetPassed } from './expire-offset';
import type { Resource } from './lease';
import * as errors from './lease-errors';
import type { PermitsContext } from './permits-context';
import type {
  AcquireReply,
  ClaimReply,
  Granted,
  PermitsWanted,
  Waiting,
  WithdrawReply,
} from './permits-store';
import type { TimerEntry } from './timer-queue';
import { Waiter, type Signal } from './waiter';

const CLAIM_RETRY_MS = 250;

/** The states that may receive a grant. */
type GrantingState = 'asking' | 'claiming' | 'withdrawing';
type State = GrantingState | 'waiting' | 'returning' | 'granted';

/**
 * One acquire, from the request to a grant. Each state has one method. The method returns the next state, or throws
 * the error that ends the call.
 *
 *     asking ──granted──▶ granted or returning
 *            ──waiting──▶ waiting
 *            ──refused, failed──▶ error
 *     waiting ──recheck──▶ claiming
 *             ──ended, draining──▶ withdrawing
 *             ──superseded, cancelled──▶ error
 *     claiming ──granted──▶ granted or returning
 *              ──waiting, failed──▶ waiting
 *              ──refused, failed with a grant that must not be reported──▶ error
 *     withdrawing ──granted──▶ granted or returning
 *                 ──withdrawn, refused, failed──▶ error
 *     returning, granted in asking ──withdrawn, and the call may wait──▶ waiting
 *                                  ──withdrawn, and the call may not wait──▶ error
 *                                  ──refused, failed──▶ error
 *     returning, granted in claiming ──any reply──▶ waiting
 *                                    ──failed──▶ error
 *     returning, granted in withdrawing ──▶ as withdrawing
 *
 * In `waiting` an arrow is a signal: `recheck` comes from a hint or a touch, `ended` from the end of the allowed time,
 * and `superseded` from a newer call of the request. In the other states an arrow is the store's reply: `refused` is
 * every reply without an arrow, and `failed` is a store failure. A grant leads to `returning` if its offset has
 * passed. A defect leads to an error, and so does a grant to a cancelled call.
 *
 * Guarantees (docs/design/leases.md, rules 3 and 5):
 * - The caller gets a grant only before the grant's offset has passed.
 * - The caller gets CONTENDED only after the store has confirmed the withdrawal.
 * - A grant that the caller does not get goes back to the store. A grant that the caller has got is never released
 *   here, because a broken connection does not prove that the holder is dead.
 */
export class AcquireAttempt implements AttemptFacts {
  private mayWait = false;
  private countsAsWaiting = false;
  private isOverWaitingLimit = false;
  /** Set before the state becomes `waiting`. */
  private waiter!: Waiter;
  private endTimer: TimerEntry | undefined;
  /** Set before the state becomes `withdrawing`. */
  private ending: WaitEnding = 'ended';
  /** Set before the state becomes `granted` or `returning`. */
  private grant!: Granted;
  private grantedIn: GrantingState = 'asking';

  constructor(
    private readonly context: PermitsContext,
    readonly call: Call,
    readonly resource: Resource,
    readonly wanted: PermitsWanted,
    readonly end: WaitEnd,
    /** True: a hold stream. A stream takes over the lease that its request holds already. */
    readonly stream: boolean,
    private readonly onPosition: ((waiter: Waiter) => void) | undefined,
  ) {}

  /** Resolves to a grant that still has time left. Rejects with the caller's error. */
  async run(): Promise<Granted> {
    if (this.context.isDraining) throw errors.draining();
    this.checkWaitingLimit();
    try {
      let state: State = 'asking';
      while (state !== 'granted') {
        switch (state) {
          case 'asking':
            state = await this.ask();
            break;
          case 'waiting':
            state = this.wakeUp(await this.waiter.next());
            break;
          case 'claiming':
            state = await this.claim();
            break;
          case 'withdrawing':
            state = await this.withdraw();
            break;
          case 'returning':
            state = await this.returnGrant();
            break;
        }
      }
      return this.grant;
    } finally {
      this.stopWaiting();
    }
  }

  private async ask(): Promise<State> {
    const { context, resource, wanted, onPosition } = this;
    const { limits } = context;
    const options = { wait: this.mayWait, takeOver: this.stream, maxWaiters: limits.maxWaitersPerName };
    let reply: AcquireReply;
    try {
      reply = await context.store.acquire(resource, withWanted(options, wanted));
    } catch (error) {
      if (!(error instanceof StoreFailure && error.carriedOut === 'no')) this.giveBackLater();
      throw errors.translateStoreFailure(error, resource, 'request_id', wanted.requestId);
    }
    switch (reply.kind) {
      case 'granted':
        return this.receive(reply, 'asking');
      case 'waiting':
        this.waiter = new Waiter(resource, wanted, reply, onPosition);
        onPosition?.(this.waiter);
        return this.startWaiting();
      case 'refused':
        if (!this.isOverWaitingLimit) throw refusal(this, reply);
        throw errors.tooManyWaiting(resource, limits.maxWaitingCallsPerConnection);
      default:
        throw refusal(this, reply);
    }
  }

  private wakeUp(signal: Signal): State {
    switch (signal) {
      case 'recheck':
        return 'claiming';
      case 'draining':
      case 'ended':
        this.ending = signal;
        return 'withdrawing';
      case 'superseded':
        throw errors.superseded(this.resource);
      case 'cancelled':
        this.giveBackLater();
        throw callCancelled();
    }
  }

  private async claim(): Promise<State> {
    const { context, resource, wanted, waiter } = this;
    let reply: ClaimReply;
    try {
      reply = await context.store.claim(resource, withWanted({ ticket: waiter.ticket }, wanted));
    } catch (error) {
      return this.claimFailed(error);
    }
    switch (reply.kind) {
      case 'granted':
        return this.receive(reply, 'claiming');
      case 'waiting':
        waiter.ticket = reply.ticket;
        waiter.update(reply.position, reply.snapshot);
        return 'waiting';
      default:
        throw refusal(this, reply);
    }
  }

  private async withdraw(): Promise<State> {
    const { context, resource, wanted } = this;
    let reply: WithdrawReply;
    try {
      reply = await context.withdrawals.leaveQueue(resource, wanted);
    } catch (error) {
      throw notWithdrawn(this, this.ending, error);
    }
    return this.afterWithdraw(reply);
  }

  private async returnGrant(): Promise<State> {
    const { context, resource, wanted, waiter, grant } = this;
    const reply = await context.withdrawals.returnGrant(resource, wanted, grant);
    switch (this.grantedIn) {
      case 'asking':
        return this.afterFirstReturn(reply);
      case 'claiming':
        waiter.raise('recheck');
        return 'waiting';
      case 'withdrawing':
        return this.afterWithdraw(reply);
    }
  }

  /** Takes the grant of a reply. The next state depends on whether the offset of the grant has passed. */
  private receive(granted: Granted, state: GrantingState): State {
    const { context, call, resource } = this;
    if (call.cancelled) {
      this.giveBackLater();
      throw callCancelled();
    }
    this.grant = granted;
    this.grantedIn = state;
    if (hasOffsetPassed(call.receivedAt, granted, context.clock.now())) return 'returning';
    if (state !== 'asking') context.queue.touchAtEndOf(resource, granted);
    return 'granted';
  }

  private claimFailed(error: unknown): State {
    const { timers, clock } = this.context;
    const isQuarantined = error instanceof StoreFailure && error.kind === 'quarantined';
    // The store may have granted permits that must not be reported. A later claim must not find these permits.
    if (!(error instanceof StoreFailure) || (isQuarantined && error.carriedOut === 'unknown')) {
      this.giveBackLater();
      throw errors.translateStoreFailure(error, this.resource, 'request_id', this.wanted.requestId);
    }
    // In a quarantine a retry is useless. The first touch after the quarantine wakes the call.
    if (!isQuarantined) {
      timers.at(clock.now() + CLAIM_RETRY_MS, () => this.waiter.raise('recheck'));
    }
    return 'waiting';
  }

  private afterWithdraw(reply: WithdrawReply): State {
    const { context, resource, wanted } = this;
    switch (reply.kind) {
      case 'granted':
        return this.receive(reply, 'withdrawing');
      case 'superseded':
        throw errors.superseded(resource);
      case 'finished':
        throw errors.requestFinished(resource, wanted.requestId);
      case 'kept':
        throw errors.notAnswered(resource, 'request_id', wanted.requestId);
      case 'withdrawn':
        throw notGranted(this, this.ending, reply.snapshot, context.clock.now());
    }
  }

  /** Continues after the return of a grant that came with the first reply. The call waits in its old place. */
  private afterFirstReturn(reply: WithdrawReply): State {
    const { resource, wanted, grant } = this;
    if (reply.kind === 'finished') throw errors.requestFinished(resource, wanted.requestId);
    // The grant was reported to another call of this request. The caller of that call may hold the lease now.
    if (reply.kind !== 'withdrawn') throw errors.notAnswered(resource, 'request_id', wanted.requestId);
    if (!this.mayWait) throw errors.answeredTooLate(resource);
    // The store uses this ticket only if the store has lost the queue. A fencing token can serve as a ticket, because
    // both count microseconds of the store's clock.
    const ticket = String(grant.fencingToken);
    const { snapshot } = reply;
    const waiting: Waiting = { kind: 'waiting', sentAt: grant.sentAt, ticket, position: 1, snapshot };
    this.waiter = new Waiter(resource, wanted, waiting, this.onPosition);
    this.waiter.raise('recheck');
    return this.startWaiting();
  }

  private startWaiting(): State {
    const { context, call, end, waiter } = this;
    context.queue.add(waiter);
    call.onCancelled(() => waiter.raise('cancelled'));
    this.endTimer = context.timers.at(end.at, () => waiter.raise('ended'));
    if (context.isDraining) waiter.raise('draining');
    return 'waiting';
  }

  private stopWaiting(): void {
    const { context, call } = this;
    if (this.countsAsWaiting) context.waitingCalls.remove(call.connection);
    if (this.endTimer === undefined) return;
    this.endTimer.cancel();
    context.queue.remove(this.waiter);
  }

  /** Lets a unary call only try once if too many calls of its connection already wait. */
  private checkWaitingLimit(): void {
    const { context, call, end, stream } = this;
    this.mayWait = end.at > context.clock.now();
    if (!this.mayWait || stream) return;
    // The call counts before the store answers, because a burst of calls would pass the limit otherwise.
    this.countsAsWaiting = context.waitingCalls.tryAdd(call.connection);
    this.isOverWaitingLimit = !this.countsAsWaiting;
    this.mayWait = this.countsAsWaiting;
  }

  private giveBackLater(): void {
    this.context.withdrawals.giveBackLater(this.resource, this.wanted);
  }
}

/** Adds the request's fields to `options`. A spread of more than eight fields takes V8 ten times as long. */
function withWanted<T extends object>(options: T, wanted: PermitsWanted): T & PermitsWanted {
  return Object.assign(options, wanted);
}
