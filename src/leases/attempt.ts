import { HoldfastError, StoreFailure } from '../base/errors';
import {
  answeredTooLate,
  callCancelled,
  notGranted,
  notWithdrawn,
  refusal,
  type AttemptFacts,
  type WaitEnding,
} from './attempt-errors';
import { WaitAllowance, type WaitEnd } from './allowance';
import { hasOffsetPassed, requestKey, type Resource } from './lease';
import * as errors from './lease-errors';
import { withWanted, type LeaseContext } from './lease-context';
import type { Life } from './life';
import type { AcquireReply, ClaimReply, Finished, Granted, LeaseWanted, WithdrawReply } from './lease-store';
import type { TimerEntry } from '../flow/timer-queue';
import { type Signal, Waiter } from './wait-queue';

const CLAIM_RETRY_MS = 250;
/** In a quarantine only a call that no touch asks about claims again after this time. */
const PAUSED_CLAIM_RETRY_MS = 1000;

/** The states that may receive a grant. */
type GrantingState = 'asking' | 'waiting' | 'claiming' | 'withdrawing';
type State = GrantingState | 'returning' | 'granted';

/**
 * One acquire, from the request to a grant. Each state has one method. The method returns the next state, or throws
 * the error that ends the call.
 *
 * ```
 * asking ──granted──▶ granted or returning
 *        ──waiting──▶ waiting
 *        ──refused, failed──▶ error
 * waiting ──recheck──▶ claiming
 *         ──granted──▶ granted or returning
 *         ──ended, draining──▶ withdrawing
 *         ──superseded, cancelled──▶ error
 * claiming ──granted──▶ granted or returning
 *          ──waiting, failed──▶ waiting
 *          ──refused, failed with a grant that must not be reported──▶ error
 * withdrawing ──granted──▶ granted or returning
 *             ──withdrawn, refused, failed──▶ error
 * returning, granted in asking ──withdrawn, and the call may wait──▶ waiting
 *                              ──withdrawn, and the call may not wait──▶ error
 *                              ──refused, failed──▶ error
 * returning, granted in claiming or waiting ──withdrawn, and the allowed time has ended──▶ error
 *                                           ──any other reply──▶ waiting
 *                                           ──failed──▶ error
 * returning, granted in withdrawing ──▶ as withdrawing
 * ```
 *
 * In `waiting` an arrow is a signal: `recheck` comes from a hint or a touch, `granted` from the reply to a command of
 * another call, `ended` from the end of the allowed time, and `superseded` from a newer call of the request. In the
 * other states an arrow is the store's reply: `refused` is every reply without an arrow, and `failed` is a store
 * failure. Two replies lead to `returning`: a grant with an offset that has passed, and the end of a lease with which
 * the store has answered only this call. This call has not reported that lease. A defect, and a grant to a cancelled
 * call, lead to an error.
 *
 * Guarantees (docs/design/leases.md, rules 3 and 5):
 * - The caller receives a grant only before the grant's offset has passed.
 * - The caller gets CONTENDED only after the store has confirmed the withdrawal.
 * - A grant that the caller does not receive goes back to the store. A grant that the caller has received is never
 *   released here, because a broken connection does not prove that the holder is dead.
 */
export class AcquireAttempt implements AttemptFacts {
  /** Set before the state becomes `asking`. */
  private allowance!: WaitAllowance;
  /** Set before the state becomes `waiting`. */
  private waiter!: Waiter;
  private state: State = 'asking';
  /** A grant by a command of another call. */
  private direct: Granted | undefined;
  private endTimer: TimerEntry | undefined;
  /** Set before the state becomes `withdrawing`. */
  private ending: WaitEnding = 'ended';
  /** Set before the state becomes `granted`. */
  private grant!: Granted;
  /** Set before the state becomes `returning`: the grant that comes too late for the caller. */
  private late!: { readonly fencingToken: bigint; readonly state: GrantingState };
  /** The token of the last grant that this call has returned. */
  private returnedToken = 0n;
  hasReturnedGrant = false;
  /** Taken before the send of the last command that was answered to this call as the speaker (wait-queue.ts). */
  confirmedAt = 0;

  constructor(
    private readonly context: LeaseContext,
    readonly life: Life,
    readonly resource: Resource,
    readonly wanted: LeaseWanted,
    readonly end: WaitEnd,
    private readonly onPosition: ((waiter: Waiter) => void) | undefined,
  ) {}

  /** Resolves to a grant that still has time left. Rejects with the caller's error. */
  async run(): Promise<Granted> {
    const { context, life, resource, wanted } = this;
    const { call } = life;
    const { account } = call;
    if (context.isDraining) throw errors.draining();
    const key = requestKey(resource, wanted.requestId);
    const isCounted = account !== undefined && context.countedLeases.request(account, key);
    const hasTime = this.end.at > context.clock.now();
    this.allowance = new WaitAllowance(context.waitingCalls, life, hasTime);
    context.attempts.set(wanted.attach, this);
    try {
      while (this.state !== 'granted') this.state = await this.next(this.state);
      context.countedLeases.lives(call, key, this.grant.remainingMs);
      this.meter();
      return this.grant;
    } catch (error) {
      if (error instanceof HoldfastError && error.reason === 'CONTENDED') {
        context.meters[resource.service].contendedCount += 1;
      }
      throw error;
    } finally {
      context.attempts.delete(wanted.attach);
      this.stopWaiting();
      if (isCounted) context.countedLeases.answered(account);
    }
  }

  /**
   * Takes a grant by a command of another call. In `waiting` the call wakes up. In `asking` the grant waits for the
   * reply to the call's own acquire. In the other states the reply to a command of this call decides. In `claiming`
   * that reply may be older than the grant and say WAITING, so another claim follows. A grant that this call has
   * already returned is ignored.
   */
  take(grant: Granted): void {
    if (this.state === 'claiming') return this.waiter.raise('recheck');
    if (this.state !== 'asking' && this.state !== 'waiting') return;
    if (grant.fencingToken <= this.returnedToken) return;
    // The command of the grant may be older than this call. The store granted after the acquire of this call.
    this.direct = { ...grant, sentAt: Math.max(grant.sentAt, this.life.call.receivedAt) };
    if (this.state === 'waiting') this.waiter.raise('granted');
  }

  private meter(): void {
    const { context, resource, life } = this;
    const meters = context.meters[resource.service];
    meters.grantMs.add(context.clock.now() - life.call.receivedAt);
    if (this.endTimer !== undefined) meters.handOverCount += 1;
  }

  private next(state: Exclude<State, 'granted'>): State | Promise<State> {
    switch (state) {
      case 'asking':
        return this.ask();
      case 'waiting':
        return this.waiter.next().then((signal) => this.wakeUp(signal));
      case 'claiming':
        return this.claim();
      case 'withdrawing':
        return this.withdraw();
      case 'returning':
        return this.returnGrant();
    }
  }

  private async ask(): Promise<State> {
    const { context, life, resource, wanted, onPosition } = this;
    const { limits } = context;
    const { mayWait } = this.allowance;
    const options = { wait: mayWait, takeOver: life.holds, maxWaiters: limits.maxWaitersPerName };
    const askedAt = context.moments.next();
    let reply: AcquireReply;
    try {
      reply = await context.store.acquire(resource, withWanted(options, wanted));
    } catch (error) {
      if (!(error instanceof StoreFailure && error.carriedOut === 'no')) this.giveBackLater();
      throw errors.translateStoreFailure(error, resource, 'request_id', wanted.clientRequestId);
    }
    this.confirmedAt = askedAt;
    switch (reply.kind) {
      case 'granted':
        return this.receive(reply, 'asking');
      case 'waiting':
        this.waiter = new Waiter(resource, wanted, reply, askedAt, onPosition);
        onPosition?.(this.waiter);
        return this.startWaiting();
      case 'finished':
        return this.finish(reply, 'asking');
      case 'refused':
        throw this.allowance.limitError(resource) ?? refusal(this, reply);
      default:
        throw refusal(this, reply);
    }
  }

  private wakeUp(signal: Signal): State {
    switch (signal) {
      case 'recheck':
        return this.startClaim();
      case 'granted':
        return this.direct ? this.receive(this.direct, 'waiting') : this.startClaim();
      case 'draining':
      case 'given-up':
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

  /** The reply to the claim decides, and may follow events that the direct grant does not know. */
  private startClaim(): State {
    this.direct = undefined;
    return 'claiming';
  }

  private async claim(): Promise<State> {
    const { context, resource, wanted, waiter } = this;
    const askedAt = context.moments.next();
    let reply: ClaimReply;
    try {
      reply = await context.store.claim(resource, withWanted({ ticket: waiter.ticket }, wanted));
    } catch (error) {
      return this.claimFailed(error);
    }
    this.confirmedAt = waiter.confirmedAt = askedAt;
    switch (reply.kind) {
      case 'granted':
        return this.receive(reply, 'claiming');
      case 'waiting':
        waiter.ticket = reply.ticket;
        waiter.update(reply.position, reply.snapshot);
        this.enqueue();
        return 'waiting';
      case 'finished':
        return this.finish(reply, 'claiming');
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
      // No call continues a wait that its client has given up, so its place goes back.
      if (this.ending === 'given-up' && errors.isQuarantined(error)) this.giveBackLater();
      throw notWithdrawn(this, this.ending, error);
    }
    return this.afterWithdraw(reply);
  }

  private async returnGrant(): Promise<State> {
    const { context, resource, wanted, end, late } = this;
    this.direct = undefined;
    this.returnedToken = late.fencingToken;
    const askedAt = context.moments.next();
    const reply = await context.withdrawals.returnGrant(resource, wanted, late.fencingToken);
    // Without a ticket the store does not know the request, and nobody speaks for it.
    if (reply.kind === 'withdrawn' && reply.ticket !== undefined) this.confirmedAt = askedAt;
    this.hasReturnedGrant = true;
    const isOver = this.allowance.mayWait && end.at <= context.clock.now();
    if (late.state === 'withdrawing' || (isOver && reply.kind === 'withdrawn')) {
      return this.afterWithdraw(reply);
    }
    if (late.state === 'asking') return this.afterFirstReturn(reply);
    this.waiter.raise('recheck');
    return 'waiting';
  }

  /** Takes the grant of a reply. The next state depends on whether the offset of the grant has passed. */
  private receive(granted: Granted, state: GrantingState): State {
    const { context, life, resource } = this;
    if (life.call.cancelled) {
      this.giveBackLater();
      throw callCancelled();
    }
    if (hasOffsetPassed(life.offsetsFrom, granted, context.clock.now())) {
      this.late = { fencingToken: granted.fencingToken, state };
      return 'returning';
    }
    this.grant = granted;
    if (state !== 'asking') context.queue.touchAtEndOf(resource, granted);
    return 'granted';
  }

  /**
   * The request's lease has ended. The request has not finished if only this call was answered with the lease. A call that
   * has waited learns that an operator has revoked its request. A new call only learns that the request has finished.
   */
  private finish(reply: Finished, state: GrantingState): State {
    if (reply.returnable === undefined) {
      if (reply.cause === 'revoked' && state !== 'asking') throw errors.requestRevoked(this.resource);
      throw refusal(this, reply);
    }
    this.late = { fencingToken: reply.returnable, state };
    return 'returning';
  }

  private claimFailed(error: unknown): State {
    const { timers, clock, queue, isDraining } = this.context;
    const isQuarantined = error instanceof StoreFailure && error.kind === 'quarantined';
    // The store may have granted permits that must not be reported. A later claim must not find these permits.
    if (!(error instanceof StoreFailure) || (isQuarantined && error.carriedOut === 'unknown')) {
      this.giveBackLater();
      throw errors.translateStoreFailure(error, this.resource, 'request_id', this.wanted.clientRequestId);
    }
    // In a quarantine a retry is useless. The first touch after the quarantine wakes the call.
    const isTouched = queue.has(this.waiter);
    if (!isQuarantined || !isTouched) {
      const pauseMs = isQuarantined ? PAUSED_CLAIM_RETRY_MS : CLAIM_RETRY_MS;
      timers.at(clock.now() + pauseMs, () => this.waiter.raise('recheck'));
    }
    if (!isTouched && isDraining) this.waiter.raise('draining');
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
        return this.finish(reply, 'withdrawing');
      case 'kept':
        throw errors.notAnswered(resource, 'request_id', wanted.clientRequestId);
      case 'withdrawn':
        throw notGranted(this, this.ending, reply.snapshot, context.clock.now());
    }
  }

  /** Continues after the return of a grant that came with the first reply. The call waits in its old place. */
  private afterFirstReturn(reply: WithdrawReply): State {
    const { resource, wanted, late } = this;
    if (reply.kind === 'finished') {
      throw reply.cause === 'revoked' ? errors.requestRevoked(resource) : refusal(this, reply);
    }
    // The grant was reported to another call of this request. The caller of that call may hold the lease now.
    if (reply.kind !== 'withdrawn') throw errors.notAnswered(resource, 'request_id', wanted.clientRequestId);
    if (!this.allowance.mayWait) throw answeredTooLate(resource, wanted.ttlMs);
    // The ticket is unknown if the store has lost the request. A fencing token can serve as a ticket, because both count
    // microseconds of the store's clock.
    const { snapshot, ticket = String(late.fencingToken) } = reply;
    const place = { ticket, position: 1, snapshot };
    this.waiter = new Waiter(resource, wanted, place, this.confirmedAt, this.onPosition);
    this.waiter.raise('recheck');
    return this.startWaiting();
  }

  private startWaiting(): State {
    const { context, life, end, waiter } = this;
    const { call } = life;
    this.enqueue();
    if (call.caller !== undefined) call.caller.waiterCount += 1;
    call.onCancelled(() => waiter.raise('cancelled'));
    life.onGivenUp(() => waiter.raise('given-up'));
    this.endTimer = context.timers.at(end.at, () => waiter.raise('ended'));
    if (this.direct) waiter.raise('granted');
    return 'waiting';
  }

  private enqueue(): void {
    const { context, waiter } = this;
    if (!waiter.isRaised('superseded')) context.queue.add(waiter);
    if (context.isDraining) waiter.raise('draining');
  }

  private stopWaiting(): void {
    this.allowance.close();
    if (this.endTimer === undefined) return;
    this.endTimer.cancel();
    const { caller } = this.life.call;
    if (caller !== undefined) caller.waiterCount -= 1;
    const { queue } = this.context;
    // A hint that came with the grant may be about the lease: an operator may have revoked the lease.
    if (this.life.holds && this.state === 'granted' && this.waiter.isRaised('recheck')) {
      queue.keepEarlyHint(this.resource, this.wanted.requestId);
    }
    queue.remove(this.waiter);
  }

  private giveBackLater(): void {
    this.context.withdrawals.giveBackLater(this.resource, this.wanted);
  }
}
