import type { TimerQueue } from './timer-queue';
import type { Call } from '../call';
import type { Clock } from '../clock';
import type { EndOfWait } from './deadlines';
import { HoldfastError, reportDefect, StoreFailure } from '../errors';
import { expireOffsetMs } from './expire-offset';
import type { Resource } from './lease';
import type { Limits } from './limits';
import * as outcomes from './outcomes';
import type {
  AcquireReply,
  ClaimReply,
  Granted,
  QueueSnapshot,
  PermitsStore,
  PermitsWanted,
  Waiting,
  WithdrawReply,
} from './permits-store';
import { Waiter, type WaitQueue } from './wait-queue';

const GIVE_BACK_RETRY_MS = 500;
/** Against a store that does not come back thousands of them must not become its load, or ours. */
const GIVE_BACK_LONGEST_PAUSE_MS = 8000;
/**
 * A lease ends by its ttl; a place in the queue stays as long as its server waits there, and each that nobody is behind
 * costs the next one an offer. No store that comes back at all is given up sooner.
 */
const GIVE_BACK_AT_LEAST_MS = 300_000;
const nothingSeen: QueueSnapshot = {
  earliestEndMs: undefined,
  waiterCount: 0,
  holder: undefined,
  holderEndMs: undefined,
  limit: undefined,
  usedCount: 0,
};
/** Past this many, what a lost reply may have granted is left to its ttl. */
const MAX_GIVING_BACK = 10_000;

/** One acquire on its way to a grant. */
export interface AcquireAttempt {
  readonly call: Call;
  readonly resource: Resource;
  readonly wanted: PermitsWanted;
  readonly end: EndOfWait;
  /** A stream takes over what is held, is told its position, and goes on with REATTACH. */
  readonly stream: boolean;
  readonly onPosition: ((waiter: Waiter) => void) | undefined;
}

export interface AcquisitionOptions {
  readonly store: PermitsStore;
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly queue: WaitQueue;
  readonly limits: Limits;
  readonly onDefect: (error: unknown) => void;
}

/**
 * The way from a request to a grant: acquire, wait, claim, withdraw. Once a grant was handed on, it is never
 * taken back from here: a broken connection does not prove that its holder is dead.
 */
export class Acquisitions {
  private readonly waitingOn = new WeakMap<object, number>();
  private isDraining = false;
  givingBack = 0;

  constructor(private readonly options: AcquisitionOptions) {}

  /** Refuses what comes, and ends every wait with a grant or with DRAINING. */
  drain(): void {
    this.isDraining = true;
    for (const waiter of this.options.queue.all()) waiter.raise('draining');
  }

  /** Resolves with a grant that still has time to run; rejects with the reason why there is none. */
  async obtain(quest: AcquireAttempt): Promise<Granted> {
    const { call, end, stream } = quest;
    if (this.isDraining) throw outcomes.draining();
    const mayWait = end.at > this.options.clock.now();
    if (!mayWait || stream) return await this.ask(quest, mayWait, false);
    if (this.waitingCalls(call) >= this.options.limits.maxWaitingCallsPerConnection) {
      return await this.ask(quest, false, true);
    }
    // Counted from here on, before the store has said whether it waits: a burst would all pass the cap.
    this.countWaiting(call, 1);
    try {
      return await this.ask(quest, true, false);
    } finally {
      this.countWaiting(call, -1);
    }
  }

  private async ask(quest: AcquireAttempt, wait: boolean, overCap: boolean): Promise<Granted> {
    const { resource, wanted, stream, onPosition } = quest;
    const { store, limits } = this.options;
    const how = { wait, takeOver: stream, maxWaiters: limits.maxWaitersPerName };
    let reply: AcquireReply;
    try {
      reply = await store.acquire(resource, withWanted(how, wanted));
    } catch (error) {
      if (!(error instanceof StoreFailure && error.carriedOut === 'no')) this.giveBack(resource, wanted);
      throw outcomes.storeFailed(error, resource, wanted.requestId);
    }
    switch (reply.kind) {
      case 'granted':
        return this.canBeDelivered(quest, reply) ? reply : await this.tryAgain(quest, reply, wait);
      case 'waiting': {
        const waiter = new Waiter(resource, wanted, reply, onPosition);
        onPosition?.(waiter);
        return await this.wait(quest, waiter);
      }
      case 'refused':
        if (overCap) throw outcomes.tooManyWaiting(resource, limits.maxWaitingCallsPerConnection);
        throw outcomes.contended(resource, reply.snapshot, 0);
      case 'mismatch':
        throw outcomes.requestMismatch(resource, wanted.requestId, reply.field);
      case 'queue-full':
        throw outcomes.queueFull(resource, reply.waiterCount);
      default:
        throw this.refusal(resource, wanted, reply);
    }
  }

  /** A grant came too late to be of use. It goes back, and the wait goes on from the same place. */
  private async tryAgain(quest: AcquireAttempt, late: Granted, mayWait: boolean): Promise<Granted> {
    const { resource, wanted, onPosition } = quest;
    const given = await this.withdraw(quest, late);
    if (given.kind === 'finished') throw outcomes.requestFinished(resource, wanted.requestId);
    // Another call was answered with it: this one repeated its id, and learnt too late what it would have said.
    if (given.kind !== 'withdrawn') throw outcomes.outcomeUnknown(resource, wanted.requestId);
    if (!mayWait) throw outcomes.answeredTooLate(resource);
    const waiting: Waiting = {
      kind: 'waiting',
      sentAt: late.sentAt,
      ticket: String(late.fencingToken), // both are the store's microseconds; only used if it has forgotten
      position: 1,
      snapshot: nothingSeen,
    };
    const waiter = new Waiter(resource, wanted, waiting, onPosition);
    waiter.raise('recheck');
    return await this.wait(quest, waiter);
  }

  /** Waits until the permits are granted or the wait ends, one signal after the other. */
  private async wait(quest: AcquireAttempt, waiter: Waiter): Promise<Granted> {
    const { call, resource, wanted, end } = quest;
    this.options.queue.add(waiter);
    call.onCancelled(() => waiter.raise('cancelled'));
    const alarm = this.options.timers.at(end.at, () => waiter.raise('ended'));
    if (this.isDraining) waiter.raise('draining');
    try {
      for (;;) {
        const signal = await waiter.next();
        switch (signal) {
          case 'cancelled':
            this.giveBack(resource, wanted);
            throw callIsGone();
          case 'superseded':
            throw outcomes.superseded(resource);
          case 'draining':
          case 'ended':
            return await this.endWait(quest, signal, await this.endWaiting(quest, signal));
          case 'recheck': {
            const granted = await this.claim(quest, waiter);
            if (granted) return granted;
          }
        }
      }
    } finally {
      alarm.cancel();
      this.options.queue.remove(waiter);
    }
  }

  /** Takes what was offered; undefined if the wait goes on. */
  private async claim(quest: AcquireAttempt, waiter: Waiter): Promise<Granted | undefined> {
    const { resource, wanted } = quest;
    const { store, clock } = this.options;
    let reply: ClaimReply;
    try {
      reply = await store.claim(resource, withWanted({ ticket: waiter.ticket }, wanted));
    } catch (error) {
      if (!(error instanceof StoreFailure)) {
        this.giveBack(resource, wanted);
        throw error;
      }
      // What was granted should not have been, so this call must not find it there when it asks again.
      if (error.kind === 'quarantined' && error.carriedOut === 'unknown') {
        this.giveBack(resource, wanted);
        throw outcomes.storeFailed(error, resource, wanted.requestId);
      }
      // Where grants pause, the next touch after that brings the news; so many need not ask each by itself.
      if (error.kind === 'quarantined') return undefined;
      this.options.timers.at(clock.now() + GIVE_BACK_RETRY_MS / 2, () => waiter.raise('recheck'));
      return undefined;
    }
    switch (reply.kind) {
      case 'granted':
        if (this.canBeDelivered(quest, reply)) return this.handOn(quest, reply);
        await this.withdraw(quest, reply);
        waiter.raise('recheck');
        return undefined;
      case 'waiting':
        waiter.ticket = reply.ticket;
        waiter.update(reply.position, reply.snapshot);
        return undefined;
      default:
        throw this.refusal(resource, wanted, reply);
    }
  }

  /** While grants pause a wait ends all the same, and where its place is kept its caller is told to go on. */
  private async endWaiting(quest: AcquireAttempt, signal: 'draining' | 'ended'): Promise<WithdrawReply> {
    try {
      return await this.withdraw(quest);
    } catch (error) {
      if (!(error instanceof HoldfastError && error.reason === 'QUARANTINED')) throw error;
      if (signal === 'draining') throw outcomes.draining(quest.wanted.requestId);
      if (quest.stream && quest.end.aged) throw outcomes.reattach(quest.resource);
      throw error;
    }
  }

  private async endWait(
    quest: AcquireAttempt,
    signal: 'draining' | 'ended',
    reply: WithdrawReply,
  ): Promise<Granted> {
    const { call, resource, wanted, end, stream } = quest;
    switch (reply.kind) {
      case 'granted':
        if (this.canBeDelivered(quest, reply)) return this.handOn(quest, reply);
        return await this.endWait(quest, signal, await this.withdraw(quest, reply));
      case 'superseded':
        throw outcomes.superseded(resource);
      case 'finished':
        throw outcomes.requestFinished(resource, wanted.requestId);
      case 'kept':
        throw outcomes.outcomeUnknown(resource, wanted.requestId);
      case 'withdrawn':
        if (signal === 'draining') throw outcomes.draining(wanted.requestId);
        this.refuseWhatNeverComes(resource, wanted, reply.snapshot);
        if (stream && end.aged) throw outcomes.reattach(resource);
        throw outcomes.contended(
          resource,
          reply.snapshot,
          this.options.clock.now() - call.receivedAt,
          end.aged,
        );
    }
  }

  /** A wait may end just as it is being told that its semaphore was deleted, or its limit lowered too far. */
  private refuseWhatNeverComes(
    resource: Resource,
    { permits }: PermitsWanted,
    { limit }: QueueSnapshot,
  ): void {
    if (resource.service === 'lock') return;
    if (limit === undefined) throw outcomes.noSuchSemaphore(resource);
    if (limit > 0 && permits > limit) throw outcomes.neverFits(resource, permits, limit);
  }

  private handOn({ resource }: AcquireAttempt, granted: Granted): Granted {
    this.options.queue.handedOver(resource, granted);
    return granted;
  }

  private canBeDelivered(quest: AcquireAttempt, granted: Granted): boolean {
    const { call, resource, wanted } = quest;
    if (call.cancelled) {
      this.giveBack(resource, wanted);
      throw callIsGone();
    }
    const offset = expireOffsetMs(call.receivedAt, granted.sentAt, granted.remainingMs);
    return call.receivedAt + offset > this.options.clock.now();
  }

  /**
   * Ends the wait, or gives back what came too late. Unanswered, it may be held still, so nobody may be told that nothing
   * was done.
   */
  private async withdraw({ resource, wanted }: AcquireAttempt, tooLate?: Granted): Promise<WithdrawReply> {
    const { requestId, attach } = wanted;
    const command = {
      requestId,
      attach,
      giveBack: tooLate !== undefined,
      fencingToken: tooLate?.fencingToken,
    };
    return await this.options.store.withdraw(resource, command).catch((error) => {
      if (isQuarantined(error)) throw outcomes.storeFailed(error, resource, requestId);
      this.giveBack(resource, wanted);
      throw error instanceof StoreFailure ? outcomes.outcomeUnknown(resource, requestId) : error;
    });
  }

  /**
   * Returns, in the background, what a call may have been granted that nobody was told of. The store refuses
   * if another call was answered with the lease.
   */
  private giveBack(resource: Resource, wanted: PermitsWanted): void {
    if (this.givingBack >= MAX_GIVING_BACK) return;
    const { store, clock } = this.options;
    const { requestId, attach, ttlMs } = wanted;
    const until = clock.now() + Math.max(ttlMs, GIVE_BACK_AT_LEAST_MS);
    let pauseMs = GIVE_BACK_RETRY_MS;
    this.givingBack += 1;
    const attempt = () => {
      store.withdraw(resource, { requestId, attach, giveBack: true }).then(
        () => (this.givingBack -= 1),
        (error) => {
          reportDefect(error, this.options.onDefect);
          const retryAt = clock.now() + pauseMs;
          pauseMs = Math.min(1.5 * pauseMs, GIVE_BACK_LONGEST_PAUSE_MS);
          if (retryAt < until) this.options.timers.at(retryAt, attempt);
          else this.givingBack -= 1;
        },
      );
    };
    attempt();
  }

  private refusal(
    resource: Resource,
    wanted: PermitsWanted,
    reply: Exclude<ClaimReply, Granted | Waiting>,
  ): HoldfastError {
    switch (reply.kind) {
      case 'superseded':
        return outcomes.superseded(resource);
      case 'finished':
        return outcomes.requestFinished(resource, wanted.requestId);
      case 'never-fits':
        return outcomes.neverFits(resource, wanted.permits, reply.limit);
      case 'unknown-resource':
        return outcomes.noSuchSemaphore(resource);
    }
  }

  private waitingCalls(call: Call): number {
    return this.waitingOn.get(call.connection) ?? 0;
  }

  private countWaiting(call: Call, change: 1 | -1): void {
    this.waitingOn.set(call.connection, this.waitingCalls(call) + change);
  }
}

/** Nobody reads this: the call it answers is over. */
function callIsGone(): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', 'the call was cancelled');
}

/** The wait has ended all the same. */
function isQuarantined(error: unknown): boolean {
  return error instanceof StoreFailure && error.kind === 'quarantined' && error.carriedOut === 'no';
}

/** Both in one: V8 takes ten times as long for `{ ...wanted, more }`, as there are more than eight fields. */
function withWanted<T extends object>(more: T, wanted: PermitsWanted): T & PermitsWanted {
  return Object.assign(more, wanted);
}
