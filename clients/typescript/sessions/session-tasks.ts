import {
  LossCause as StoredCause,
  type Lease as LeaseMessage,
} from '../../../generated/typescript/holdfast/v1/lease';
import type { CommandFailed } from '../../../generated/typescript/holdfast/v1/session_service';
import { deadline } from '../deadline';
import { aborted, AcquireIntent, type IntentKeeper, type Wanted } from './acquire-intent';
import { HeldLeases } from './held-leases';
import { Lease, type LeaseKeeper, type ReleaseAnswer } from './lease';
import { AttachOwner, LeaseOwner, type OwnerKeeper } from './lease-owner';
import type { CommandOwner, OpenSession, Receipt } from './open-session';
import { pauseBeforeCommand } from './pauses';
import { ReleaseTask, type ReleaseKeeper } from './release-task';
import { SessionError } from './session-error';
import type { SessionNews } from './session-news';
import { UpdateTask } from './update-task';

/** The command may be repeated with the same id. After every other reason a repetition does not help. */
const REPEATED = new Set([
  'OUTCOME_UNKNOWN',
  'STORE_UNAVAILABLE',
  'DRAINING',
  'REATTACH',
  'QUARANTINED',
  'OVERLOADED',
]);
/** The server refuses more acquires that have not ended. */
const MAX_INTENTS = 10_000;

interface Repeatable {
  attempts: number;
}

/** What outlives a session: leases, acquires without an answer, releases without an answer. */
export class SessionTasks implements IntentKeeper, LeaseKeeper, OwnerKeeper, ReleaseKeeper {
  readonly leases = new HeldLeases();
  /** The session that gets new commands. */
  current: OpenSession | undefined;
  private readonly intents = new Set<AcquireIntent>();
  private readonly releases = new Map<string, ReleaseTask>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private failure: SessionError | undefined;
  private onEmpty: (() => void) | undefined;

  constructor(private readonly tell: (news: SessionNews) => void) {}

  /** Attaches first, the earliest deadline first, then releases and acquires. All this comes before new acquires. */
  moveTo(session: OpenSession): void {
    this.current = session;
    for (const lease of this.leases.byDeadline()) this.attach(lease, session);
    for (const release of this.releases.values()) release.place(session);
    for (const intent of this.intents) this.place(intent, session);
  }

  acquire(wanted: Wanted, signal: AbortSignal | undefined): Promise<Lease> {
    if (this.intents.size >= MAX_INTENTS) {
      return Promise.reject(new SessionError(`${MAX_INTENTS} acquires wait already`, 'QUOTA_EXCEEDED'));
    }
    const intent = new AcquireIntent(wanted, this);
    this.intents.add(intent);
    const { current } = this;
    // A server that leaves may refuse new acquires. The next session sends the acquire.
    if (current && !current.isLeaving) this.place(intent, current);
    if (signal === undefined) return intent.promise;
    const abort = () => this.abandon(intent, aborted());
    signal.addEventListener('abort', abort, { once: true });
    return intent.promise.finally(() => signal.removeEventListener('abort', abort));
  }

  /** Releases and cancels everything, and waits for the answers. */
  async finish(error: SessionError, timeoutMs: number): Promise<void> {
    for (const intent of this.intents) this.abandon(intent, error);
    for (const lease of this.leases.byDeadline()) this.release(lease).catch(() => undefined);
    if (this.isEmpty) return;
    await new Promise<void>((resolve) => {
      this.onEmpty = resolve;
      this.later(timeoutMs, resolve);
    });
  }

  /** No next session will come. */
  fail(error: SessionError): void {
    this.failure = error;
    for (const intent of this.intents) intent.reject(error);
    for (const release of this.releases.values()) release.reject(error);
    this.intents.clear();
    this.releases.clear();
    this.tellEmpty();
  }

  close(): void {
    this.fail(new SessionError('the client is closed', 'CLOSED'));
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    for (const lease of this.leases.byDeadline()) lease.end('RELEASED');
  }

  granted(
    intent: AcquireIntent,
    message: LeaseMessage,
    receipt: Receipt,
    session: OpenSession,
    number: number,
  ): CommandOwner | void {
    const known = this.leases.get(message.leaseId);
    const until = deadline(receipt.t0, message.expireOffset, message.ttl, receipt.at);
    if (known) {
      // The grant of an older session was read before the answer of this one.
      known.confirm(until);
      if (known.home === undefined || known.home.number <= session.number)
        this.settleIn(known, session, number);
      return new LeaseOwner(known, this);
    }
    if (!this.intents.has(intent) || intent.isAbandoned || this.leases.isOver(message.leaseId)) {
      this.intents.delete(intent);
      return this.releaseUnwanted(message.leaseId);
    }
    if (until <= performance.now()) return this.grantedTooLate(intent, message.leaseId);
    const lease = new Lease(message, until, this);
    this.intents.delete(intent);
    this.leases.add(lease);
    intent.lease = lease;
    // A repetition in a later session attaches to the lease, so only that session speaks for the lease.
    if (intent.home && intent.home.number > session.number) lease.home = intent.home;
    else this.settleIn(lease, session, number);
    intent.resolve(lease);
    this.tellEmpty();
    return new LeaseOwner(lease, this);
  }

  cancelled(intent: AcquireIntent): void {
    if (this.intents.delete(intent)) intent.reject(aborted());
    this.tellEmpty();
  }

  failed(intent: AcquireIntent, failed: CommandFailed, session: OpenSession): void {
    if (intent.home !== session) return;
    if (intent.lease && intent.lease.number === undefined) {
      return new AttachOwner(intent.lease, this).failed(failed, session);
    }
    if (!this.intents.has(intent)) return;
    const error = SessionError.ofCommand(failed);
    if (error.reason === 'REQUEST_FINISHED' && intent.takeNewId()) return this.place(intent, session);
    const again = () => intent.home === session && this.intents.has(intent) && this.place(intent, session);
    if (this.repeatLater(intent, error, session, again)) return;
    this.intents.delete(intent);
    intent.reject(error);
    this.tellEmpty();
  }

  noAnswer(intent: AcquireIntent): void {
    this.abandon(intent, new SessionError('no server has answered within the wait', 'NO_ANSWER'));
  }

  over(lease: Lease): void {
    this.leases.end(lease);
    lease.update?.reject(lease.signal.reason as Error);
  }

  release(lease: Lease): Promise<ReleaseAnswer> {
    lease.end('RELEASED');
    // The lease is held elsewhere, and is not this client's to end.
    if (lease.lossCause === 'SUPERSEDED') {
      return Promise.resolve({ released: false, lossCause: StoredCause.LOSS_CAUSE_UNSPECIFIED });
    }
    return this.releaseId(lease.id);
  }

  update(lease: Lease, metadata: ReadonlyMap<string, string>): Promise<void> {
    if (lease.isOver) return Promise.reject(lease.signal.reason as Error);
    if (lease.update) return Promise.reject(new Error('an earlier update of this lease has no answer yet'));
    const update = new UpdateTask(lease, metadata, (task, error, session) =>
      this.repeatLater(
        task,
        error,
        session,
        () => lease.update === task && lease.home === session && task.place(),
      ),
    );
    lease.update = update;
    update.place();
    return update.promise;
  }

  attached(lease: Lease, session: OpenSession): void {
    this.settleIn(lease, session, lease.number ?? 0);
    this.tell({ kind: 'attached', address: session.address, lease });
  }

  renewalFailed(lease: Lease): void {
    this.tell({ kind: 'renewalFailed', lease });
  }

  releaseUnwanted(leaseId: string): void {
    this.releaseId(leaseId).catch(() => undefined);
  }

  repeatAttach(lease: Lease, error: SessionError, session: OpenSession): void {
    const again = () => lease.home === session && !lease.isOver && this.attach(lease, session);
    this.later(pauseBeforeCommand(1, error.retryAfterMs), again);
  }

  answered(task: ReleaseTask): void {
    this.releases.delete(task.leaseId);
    this.tellEmpty();
  }

  repeat(task: ReleaseTask, error: SessionError, session: OpenSession): boolean {
    const again = () => task.home === session && this.releases.has(task.leaseId) && task.place(session);
    return this.repeatLater(task, error, session, again);
  }

  private get isEmpty(): boolean {
    return this.intents.size === 0 && this.releases.size === 0;
  }

  private tellEmpty(): void {
    if (this.isEmpty) this.onEmpty?.();
  }

  private attach(lease: Lease, session: OpenSession): void {
    lease.home = session;
    lease.number = undefined;
    session.run({ $case: 'attach', value: { leaseId: lease.id } }, new AttachOwner(lease, this));
  }

  private settleIn(lease: Lease, session: OpenSession, number: number): void {
    lease.home = session;
    lease.number = number;
    lease.update?.place();
  }

  private place(intent: AcquireIntent, session: OpenSession): void {
    intent.home = session;
    intent.commandId = session.run(intent.command(), intent);
    if (intent.isAbandoned) this.cancel(intent, session);
  }

  private cancel({ commandId }: AcquireIntent, session: OpenSession): void {
    session.run({ $case: 'cancel', value: { commandId: BigInt(commandId) } }, undefined);
  }

  /** The caller hears at once. The intent stays until the server has answered, because a grant may be under way. */
  private abandon(intent: AcquireIntent, error: SessionError): void {
    if (intent.isAbandoned || !this.intents.has(intent)) return;
    intent.isAbandoned = true;
    intent.reject(error);
    if (intent.home === undefined) this.intents.delete(intent);
    else this.cancel(intent, intent.home);
  }

  /** The grant is over on arrival, so the work never began. */
  private grantedTooLate(intent: AcquireIntent, leaseId: string): void {
    this.releaseUnwanted(leaseId);
    if (intent.takeNewId() && this.current) return this.place(intent, this.current);
    this.intents.delete(intent);
    intent.reject(new SessionError('the grant came after the end of its lease', 'NO_ANSWER'));
  }

  private releaseId(leaseId: string): Promise<ReleaseAnswer> {
    const known = this.releases.get(leaseId);
    if (known) return known.promise;
    if (this.failure) return Promise.reject(this.failure);
    const task = new ReleaseTask(leaseId, this);
    this.releases.set(leaseId, task);
    if (this.current) task.place(this.current);
    return task.promise;
  }

  /** False: a repetition does not help. A session that leaves gets no repetition, because the next one sends all. */
  private repeatLater(
    task: Repeatable,
    error: SessionError,
    session: OpenSession,
    again: () => unknown,
  ): boolean {
    if (!REPEATED.has(error.reason)) return false;
    task.attempts += 1;
    if (session.isLeaving && error.reason === 'DRAINING') return true;
    this.later(pauseBeforeCommand(task.attempts, error.retryAfterMs), again);
    return true;
  }

  private later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, ms);
    this.timers.add(timer);
  }
}
