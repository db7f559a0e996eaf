import { reportDefect } from '../base/errors';
import type { Runtime } from '../base/runtime';
import { BackgroundCommands, type Pauses } from '../flow/backoff';
import { Reruns } from '../flow/rerun';
import { resourceKey, type Resource } from './lease';
import { isQuarantined, translateWithdrawFailure } from './lease-errors';
import type {
  CallRef,
  Granted,
  LeaseStore,
  LeaseWanted,
  WithdrawCommand,
  WithdrawReply,
} from './lease-store';
import type { TimerQueue } from '../flow/timer-queue';

/** The pauses grow, so that thousands of retries do not overload a store that is down. */
const GIVE_BACK_PAUSES: Pauses = { firstMs: 500, growth: 1.5, longestMs: 8000 };
/**
 * The shortest time for which a give-back is retried. A lease ends with its ttl, but an abandoned place stays in the
 * queue for as long as this server touches the queue, and costs the next waiter an offer.
 */
const MIN_DURATION_MS = 300_000;
/**
 * How long a withdrawal may wait for its turn while the store answers other commands (ms). A client may cancel ten
 * thousand waits at the same time. A withdrawal that fails leaves its client without an answer, and adds a give-back
 * to the load.
 */
const PATIENCE_MS = 10_000;
/** The largest number of simultaneous give-backs, to limit memory. Above this number, an unreported grant expires. */
const MAX_RUNNING = 10_000;

/** Ends waits, and gives back grants that were not reported to their callers. */
export class Withdrawals {
  private readonly giveBacks: BackgroundCommands;
  /**
   * The withdrawals of each connection wait in a queue of their own: the commands of one caller are sent one after
   * another, and thousands of withdrawals must not delay the renewals and releases of the connection.
   */
  private readonly callers = new WeakMap<object, object>();

  constructor(
    private readonly store: LeaseStore,
    private readonly runtime: Runtime,
    timers: TimerQueue,
  ) {
    this.giveBacks = new BackgroundCommands(runtime, timers, GIVE_BACK_PAUSES);
  }

  /** The number of give-backs that the store has not confirmed yet. */
  get givingBackCount(): number {
    return this.giveBacks.count;
  }

  /** Ends a wait. If the request was granted or offered permits, the reply is that grant. */
  leaveQueue(resource: Resource, wanted: LeaseWanted): Promise<WithdrawReply> {
    return this.withdraw(resource, wanted, { giveBack: false });
  }

  /**
   * Gives back a grant that arrived too late. The request stays in the queue, in its old place. The lease may have
   * ended: no client was told of the lease, so no client's deadline counts.
   */
  returnGrant(resource: Resource, wanted: LeaseWanted, fencingToken: bigint): Promise<WithdrawReply> {
    return this.withdraw(resource, wanted, { giveBack: true, fencingToken });
  }

  /**
   * Gives back the call's grant, if there is any, and its place in the queue. Works in the background. The store keeps
   * a lease that was reported to another call.
   */
  giveBackLater(resource: Resource, { requestId, attach, ttlMs }: LeaseWanted): void {
    this.runLater(resource, { requestId, attach, giveBack: true }, Math.max(ttlMs, MIN_DURATION_MS));
  }

  /**
   * Gives back a direct grant to a call that has ended. The store keeps the lease if a command of the call was answered
   * with the lease, because the call may have reported the lease. Works in the background.
   */
  returnUnheard(resource: Resource, { requestId, attach }: CallRef, { fencingToken, ttlMs }: Granted): void {
    this.runLater(resource, { requestId, attach, giveBack: true, fencingToken, onlyUnheard: true }, ttlMs);
  }

  /** Ends all give-backs in the background, before the store is closed. An unreported grant then stays taken until its ttl ends. */
  close(): void {
    this.giveBacks.close();
  }

  private runLater(
    resource: Resource,
    command: Omit<WithdrawCommand, 'caller' | 'patientUntil'>,
    durationMs: number,
  ): void {
    if (this.giveBacks.count >= MAX_RUNNING) return;
    // Commands without a caller share one queue. Thousands of give-backs must not delay the common renewals in this
    // queue.
    const send = () =>
      this.store.withdraw(resource, {
        ...command,
        caller: this,
        patientUntil: this.runtime.clock.now() + PATIENCE_MS,
      });
    this.giveBacks.run(send, this.runtime.clock.now() + durationMs);
  }

  private async withdraw(
    resource: Resource,
    wanted: LeaseWanted,
    what: Pick<WithdrawCommand, 'giveBack' | 'fencingToken'>,
  ): Promise<WithdrawReply> {
    const { requestId, attach, sendBefore = Infinity } = wanted;
    const command = {
      ...what,
      requestId,
      attach,
      caller: this.callerOf(wanted.caller),
      // The caller hears nothing after the deadline of its call.
      patientUntil: Math.min(this.runtime.clock.now() + PATIENCE_MS, sendBefore),
    };
    return await this.store.withdraw(resource, command).catch((error) => {
      const translated = translateWithdrawFailure(error, resource, wanted.clientRequestId);
      // In a quarantine the store keeps the place in the queue. The caller may continue the wait with another call.
      if (!isQuarantined(translated)) this.giveBackLater(resource, wanted);
      throw translated;
    });
  }

  private callerOf(connection: object | undefined): object | undefined {
    if (connection === undefined) return undefined;
    const known = this.callers.get(connection);
    if (known) return known;
    const caller = {};
    this.callers.set(connection, caller);
    return caller;
  }
}

/**
 * Continues the work that bounded scripts leave (docs/design/leases.md, rule 8). Each resource has one step in flight.
 * No request overtakes the queue in the meantime, because the store grants nothing past the head of the queue.
 */
export class BoundedSteps {
  private readonly steps: Reruns;

  constructor(
    private readonly store: LeaseStore,
    runtime: Runtime,
  ) {
    this.steps = new Reruns((error) => reportDefect(error, runtime.defect));
  }

  /** The touch names no waiter, because many steps may follow. After a failure, the next touch continues the work. */
  run(resource: Resource): void {
    this.steps.run(resourceKey(resource), () => this.store.touch(resource, []));
  }
}
