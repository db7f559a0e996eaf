import { HoldfastError, StoreFailure } from '../base/errors';
import { WaitAllowance, waitEnd } from './allowance';
import {
  answeredTooLate,
  type Asked,
  callCancelled,
  notGranted,
  notWithdrawn,
  refusal,
  type WaitEnding,
} from './attempt-errors';
import { hasOffsetPassed, requestKey, type Service } from './lease';
import * as errors from './lease-errors';
import type { LeaseContext } from './lease-context';
import type { AcquireRequest } from './lease-requests';
import type { Life } from './life';
import type { AcquireReply, ClaimReply, Finished, Granted, WithdrawReply } from './lease-store';
import type { TimerEntry } from '../flow/timer-queue';
import { type Signal, Waiter } from './wait-queue';

const CLAIM_RETRY_MS = 250;
/** In a quarantine only a call that no touch asks about claims again after this time. */
const PAUSED_CLAIM_RETRY_MS = 1000;

/** The states that may receive a grant. */
type GrantingState =
  | { readonly kind: 'asking' }
  | { readonly kind: 'waiting' | 'claiming'; readonly waiter: Waiter }
  | WithdrawingState;
interface WithdrawingState {
  readonly kind: 'withdrawing';
  readonly ending: WaitEnding;
}
/** The grant with this token comes too late for the caller. */
interface ReturningState {
  readonly kind: 'returning';
  readonly fencingToken: bigint;
  readonly grantedIn: GrantingState;
}
type State = GrantingState | ReturningState | { readonly kind: 'granted'; readonly grant: Granted };

/** The allowed time of a wait has ended. */
const ENDED: WithdrawingState = { kind: 'withdrawing', ending: 'ended' };

/** A grant, and the request that it answers. */
export interface Acquired extends Pick<Asked, 'resource' | 'wanted'> {
  readonly granted: Granted;
  /** Taken before the send of the last command that was answered to the call as the speaker (wait-queue.ts). */
  readonly confirmedAt: number;
}

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
 *         ──ended, given up, draining──▶ withdrawing
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
 * another call, `ended` from the end of the allowed time, `given up` from a cancel in a session, and `superseded` from a
 * newer call of the request. In the other states an arrow is the store's reply: `refused` is every reply without an
 * arrow, and `failed` is a store failure. Two replies lead to `returning`: a grant with an offset that has passed, and the
 * end of a lease with which the store has answered only this call. This call has not reported that lease. A defect, and a
 * grant to a cancelled call, lead to an error.
 *
 * Guarantees (docs/design/leases.md, rules 3 and 5):
 * - The caller receives a grant only before the grant's offset has passed.
 * - The caller gets CONTENDED only after the store has confirmed the withdrawal.
 * - A grant that the caller does not receive goes back to the store. A grant that the caller has received is never
 *   released here, because a broken connection does not prove that the holder is dead.
 */
class AcquireAttempt {
  /** Taken before the send of the last command that was answered to this call as the speaker (wait-queue.ts). */
  confirmedAt = 0;
  private state: State = { kind: 'asking' };
  /** The call's place in the queue. Undefined: the call has not waited. */
  private place: { readonly waiter: Waiter; readonly endTimer: TimerEntry } | undefined;
  /** A grant by a command of another call. */
  private direct: Granted | undefined;
  /** The token of the last grant that this call has returned. */
  private returnedToken = 0n;
  /** True: the call has given back a grant that came too late for its ttl. */
  private hasReturnedGrant = false;

  constructor(
    private readonly context: LeaseContext,
    private readonly asked: Asked,
    private readonly allowance: WaitAllowance,
    private readonly onPosition: ((waiter: Waiter) => void) | undefined,
  ) {}

  /** Resolves to a grant that still has time left. Rejects with the caller's error. */
  async run(): Promise<Granted> {
    while (this.state.kind !== 'granted') this.state = await this.next(this.state);
    const { grant } = this.state;
    return grant;
  }

  /** True: the call has got its grant after a wait in the queue. */
  get hasWaited(): boolean {
    return this.place !== undefined;
  }

  /**
   * Takes a grant by a command of another call. In `waiting` the call wakes up. In `asking` the grant waits for the
   * reply to the call's own acquire. In the other states the reply to a command of this call decides. In `claiming`
   * that reply may be older than the grant and say WAITING, so another claim follows. A grant that this call has
   * already returned is ignored.
   */
  take(grant: Granted): void {
    const { state } = this;
    if (state.kind === 'claiming') return state.waiter.raise('recheck');
    if (state.kind !== 'asking' && state.kind !== 'waiting') return;
    if (grant.fencingToken <= this.returnedToken) return;
    // The command of the grant may be older than this call. The store granted after the acquire of this call.
    this.direct = { ...grant, sentAt: Math.max(grant.sentAt, this.asked.life.call.receivedAt) };
    if (state.kind === 'waiting') state.waiter.raise('granted');
  }

  /** Leaves the queue. Called once, at the end of the attempt. */
  close(): void {
    const { place, asked } = this;
    if (place === undefined) return;
    const { waiter, endTimer } = place;
    endTimer.cancel();
    const { caller } = asked.life.call;
    if (caller !== undefined) caller.waiterCount -= 1;
    const { queue } = this.context;
    // A hint that came with the grant may be about the lease: an operator may have revoked the lease.
    if (asked.life.holds && this.state.kind === 'granted' && waiter.isRaised('recheck')) {
      queue.keepEarlyHint(asked.resource, asked.wanted.requestId);
    }
    queue.remove(waiter);
  }

  private next(state: Exclude<State, { readonly kind: 'granted' }>): State | Promise<State> {
    switch (state.kind) {
      case 'asking':
        return this.ask(state);
      case 'waiting':
        return state.waiter.next().then((signal) => this.wakeUp(signal, state.waiter));
      case 'claiming':
        return this.claim(state.waiter);
      case 'withdrawing':
        return this.withdraw(state);
      case 'returning':
        return this.returnGrant(state);
    }
  }

  private async ask(state: GrantingState): Promise<State> {
    const { context, asked, allowance, onPosition } = this;
    const { life, resource, wanted } = asked;
    const { maxWaitersPerName } = context.limits;
    const how = { wait: allowance.mayWait, takeOver: life.holds, maxWaiters: maxWaitersPerName };
    const askedAt = context.moments.next();
    let reply: AcquireReply;
    try {
      reply = await context.store.acquire(resource, wanted, how);
    } catch (error) {
      if (!(error instanceof StoreFailure && error.carriedOut === 'no')) this.giveBackLater();
      throw errors.translateStoreFailure(error, resource, 'request_id', wanted.clientRequestId);
    }
    this.confirmedAt = askedAt;
    switch (reply.kind) {
      case 'granted':
        return this.receive(reply, state);
      case 'waiting': {
        const waiter = new Waiter(resource, wanted, reply, askedAt, onPosition);
        onPosition?.(waiter);
        return this.startWaiting(waiter);
      }
      case 'finished':
        return this.finish(reply, state);
      case 'refused':
        throw allowance.limitError(resource) ?? refusal(asked, reply);
      default:
        throw refusal(asked, reply);
    }
  }

  private wakeUp(signal: Signal, waiter: Waiter): State {
    switch (signal) {
      case 'recheck':
        return this.startClaim(waiter);
      case 'granted':
        return this.direct ? this.receive(this.direct, { kind: 'waiting', waiter }) : this.startClaim(waiter);
      case 'draining':
      case 'given-up':
      case 'ended':
        return { kind: 'withdrawing', ending: signal };
      case 'superseded':
        throw errors.superseded(this.asked.resource);
      case 'cancelled':
        this.giveBackLater();
        throw callCancelled();
    }
  }

  /** The reply to the claim decides, and may follow events that the direct grant does not know. */
  private startClaim(waiter: Waiter): State {
    this.direct = undefined;
    return { kind: 'claiming', waiter };
  }

  private async claim(waiter: Waiter): Promise<State> {
    const { context, asked } = this;
    const { resource, wanted } = asked;
    const askedAt = context.moments.next();
    let reply: ClaimReply;
    try {
      reply = await context.store.claim(resource, wanted, waiter.ticket);
    } catch (error) {
      return this.claimFailed(error, waiter);
    }
    this.confirmedAt = waiter.confirmedAt = askedAt;
    switch (reply.kind) {
      case 'granted':
        return this.receive(reply, { kind: 'claiming', waiter });
      case 'waiting':
        waiter.ticket = reply.ticket;
        waiter.update(reply.position, reply.snapshot);
        this.enqueue(waiter);
        return { kind: 'waiting', waiter };
      case 'finished':
        return this.finish(reply, { kind: 'claiming', waiter });
      default:
        throw refusal(asked, reply);
    }
  }

  private async withdraw(state: WithdrawingState): Promise<State> {
    const { context, asked } = this;
    let reply: WithdrawReply;
    try {
      reply = await context.withdrawals.leaveQueue(asked.resource, asked.wanted);
    } catch (error) {
      // No call continues a wait that its client has given up, so its place goes back.
      if (state.ending === 'given-up' && errors.isQuarantined(error)) this.giveBackLater();
      throw notWithdrawn(asked, state.ending, error);
    }
    return this.afterWithdraw(reply, state);
  }

  private async returnGrant({ fencingToken, grantedIn }: ReturningState): Promise<State> {
    const { context, asked, allowance } = this;
    const { resource, wanted, end } = asked;
    this.direct = undefined;
    this.returnedToken = fencingToken;
    const askedAt = context.moments.next();
    const reply = await context.withdrawals.returnGrant(resource, wanted, fencingToken);
    // Without a ticket the store does not know the request, and nobody speaks for it.
    if (reply.kind === 'withdrawn' && reply.ticket !== undefined) this.confirmedAt = askedAt;
    this.hasReturnedGrant = true;
    if (grantedIn.kind === 'withdrawing') return this.afterWithdraw(reply, grantedIn);
    const isOver = allowance.mayWait && end.at <= context.clock.now();
    if (isOver && reply.kind === 'withdrawn') return this.afterWithdraw(reply, ENDED);
    if (grantedIn.kind === 'asking') return this.afterFirstReturn(reply, fencingToken);
    grantedIn.waiter.raise('recheck');
    return { kind: 'waiting', waiter: grantedIn.waiter };
  }

  /** Takes the grant of a reply. The next state depends on whether the offset of the grant has passed. */
  private receive(granted: Granted, state: GrantingState): State {
    const { context, asked } = this;
    const { life, resource } = asked;
    if (life.call.cancelled) {
      this.giveBackLater();
      throw callCancelled();
    }
    if (hasOffsetPassed(life.offsetsFrom, granted, context.clock.now())) {
      return { kind: 'returning', fencingToken: granted.fencingToken, grantedIn: state };
    }
    if (state.kind !== 'asking') context.queue.touchAtEndOf(resource, granted);
    return { kind: 'granted', grant: granted };
  }

  /**
   * The request's lease has ended. The request has not finished if only this call was answered with the lease. A call that
   * has waited learns that an operator has revoked its request. A new call only learns that the request has finished.
   */
  private finish(reply: Finished, state: GrantingState): State {
    const { asked } = this;
    if (reply.returnable === undefined) {
      if (reply.cause === 'revoked' && state.kind !== 'asking') throw errors.requestRevoked(asked.resource);
      throw refusal(asked, reply);
    }
    return { kind: 'returning', fencingToken: reply.returnable, grantedIn: state };
  }

  private claimFailed(error: unknown, waiter: Waiter): State {
    const { resource, wanted } = this.asked;
    const { timers, clock, queue, isDraining } = this.context;
    const isQuarantined = error instanceof StoreFailure && error.kind === 'quarantined';
    // The store may have granted permits that must not be reported. A later claim must not find these permits.
    if (!(error instanceof StoreFailure) || (isQuarantined && error.carriedOut === 'unknown')) {
      this.giveBackLater();
      throw errors.translateStoreFailure(error, resource, 'request_id', wanted.clientRequestId);
    }
    // In a quarantine a retry is useless. The first touch after the quarantine wakes the call.
    const isTouched = queue.has(waiter);
    if (!isQuarantined || !isTouched) {
      const pauseMs = isQuarantined ? PAUSED_CLAIM_RETRY_MS : CLAIM_RETRY_MS;
      timers.at(clock.now() + pauseMs, () => waiter.raise('recheck'));
    }
    if (!isTouched && isDraining) waiter.raise('draining');
    return { kind: 'waiting', waiter };
  }

  private afterWithdraw(reply: WithdrawReply, state: WithdrawingState): State {
    const { context, asked, hasReturnedGrant } = this;
    const { resource, wanted } = asked;
    switch (reply.kind) {
      case 'granted':
        return this.receive(reply, state);
      case 'superseded':
        throw errors.superseded(resource);
      case 'finished':
        return this.finish(reply, state);
      case 'kept':
        throw errors.notAnswered(resource, 'request_id', wanted.clientRequestId);
      case 'withdrawn': {
        const { snapshot } = reply;
        throw notGranted(asked, state.ending, { snapshot, now: context.clock.now(), hasReturnedGrant });
      }
    }
  }

  /** Continues after the return of a grant that came with the first reply. The call waits in its old place. */
  private afterFirstReturn(reply: WithdrawReply, fencingToken: bigint): State {
    const { asked, allowance, confirmedAt, onPosition } = this;
    const { resource, wanted } = asked;
    if (reply.kind === 'finished') {
      throw reply.cause === 'revoked' ? errors.requestRevoked(resource) : refusal(asked, reply);
    }
    // The grant was reported to another call of this request. The caller of that call may hold the lease now.
    if (reply.kind !== 'withdrawn') throw errors.notAnswered(resource, 'request_id', wanted.clientRequestId);
    if (!allowance.mayWait) throw answeredTooLate(resource, wanted.ttlMs);
    // The ticket is unknown if the store has lost the request. A fencing token can serve as a ticket, because both count
    // microseconds of the store's clock.
    const { snapshot, ticket = String(fencingToken) } = reply;
    const waiter = new Waiter(resource, wanted, { ticket, position: 1, snapshot }, confirmedAt, onPosition);
    waiter.raise('recheck');
    return this.startWaiting(waiter);
  }

  private startWaiting(waiter: Waiter): State {
    const { context, asked } = this;
    const { life, end } = asked;
    const { call } = life;
    this.enqueue(waiter);
    if (call.caller !== undefined) call.caller.waiterCount += 1;
    call.onCancelled(() => waiter.raise('cancelled'));
    life.onGivenUp(() => waiter.raise('given-up'));
    const endTimer = context.timers.at(end.at, () => waiter.raise('ended'));
    this.place = { waiter, endTimer };
    if (this.direct) waiter.raise('granted');
    return { kind: 'waiting', waiter };
  }

  private enqueue(waiter: Waiter): void {
    const { context } = this;
    if (!waiter.isRaised('superseded')) context.queue.add(waiter);
    if (context.isDraining) waiter.raise('draining');
  }

  private giveBackLater(): void {
    const { resource, wanted } = this.asked;
    this.context.withdrawals.giveBackLater(resource, wanted);
  }
}

/**
 * Gets a grant that still has time left, for a unary call, a stream or a command of a session. Rejects with the caller's
 * error.
 */
export async function acquire(
  context: LeaseContext,
  life: Life,
  service: Service,
  request: AcquireRequest,
  onPosition?: (waiter: Waiter) => void,
): Promise<Acquired> {
  if (context.isDraining) throw errors.draining();
  const { call } = life;
  const { account } = call;
  const resource = { service, name: request.name };
  const meters = context.meters[service];
  const wanted = context.wanted(life, resource, request);
  const key = requestKey(resource, wanted.requestId);
  const isCounted = account !== undefined && context.countedLeases.request(account, key);
  const end = waitEnd(life, request);
  const allowance = new WaitAllowance(context.waitingCalls, life, end.at > context.clock.now());
  const attempt = new AcquireAttempt(context, { life, resource, wanted, end }, allowance, onPosition);
  context.attempts.set(wanted.attach, attempt);
  try {
    const granted = await attempt.run();
    context.countedLeases.lives(call, key, granted.remainingMs);
    meters.grantMs.add(context.clock.now() - call.receivedAt);
    if (attempt.hasWaited) meters.handOverCount += 1;
    return { resource, wanted, granted, confirmedAt: attempt.confirmedAt };
  } catch (error) {
    if (error instanceof HoldfastError && error.reason === 'CONTENDED') meters.contendedCount += 1;
    throw error;
  } finally {
    context.attempts.delete(wanted.attach);
    allowance.close();
    attempt.close();
    if (isCounted) context.countedLeases.answered(account);
  }
}
