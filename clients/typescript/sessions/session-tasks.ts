import { status } from '@grpc/grpc-js';
import type { Lease as LeaseMessage } from '../../../generated/typescript/holdfast/v1/lease';
import type { CommandFailed } from '../../../generated/typescript/holdfast/v1/session_service';
import { onAbort } from '../calls/abort';
import { now } from '../clock';
import { deadline } from '../deadline';
import { durationToMs } from '../duration';
import { ClosedError, errorOf, errorOfCommand, noAnswer, type HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';
import { pauseBeforeAttach } from '../pauses';
import { AcquireIntent, type Acquire, type IntentKeeper } from './acquire-intent';
import { HeldLeases } from './held-leases';
import { Intents } from './intents';
import { Lease, type LeaseKeeper, type MetadataChange, type ReleaseAnswer } from './lease';
import { AttachOwner, LeaseOwner, type OwnerKeeper } from './lease-owner';
import type { CommandOwner, OpenSession, Receipt } from './open-session';
import { Releases } from './releases';
import { Repeats } from './repeats';
import type { SessionNews } from './session-news';
import { beginFirst, UpdateTask, type UpdateKeeper } from './update-task';

const { maxAcquiresUnanswered } = NUMBERS.session;
/** The server has refused the attempt before it could be granted. */
const NOT_CARRIED_OUT: ReadonlySet<string> = new Set(NUMBERS.reasons.callIsRepeated);

/** What outlives a session: leases, acquires without an answer, releases without an answer. */
export class SessionTasks implements IntentKeeper, LeaseKeeper, OwnerKeeper, UpdateKeeper {
  readonly leases = new HeldLeases();
  /** The session that gets new commands. */
  current: OpenSession | undefined;
  /** Why no session lasts. Undefined: a session has started. */
  lastError: HoldfastError | undefined;
  private readonly intents = new Intents(() => this.tellEmpty());
  private readonly repeats = new Repeats();
  private readonly releases = new Releases(
    this.repeats,
    () => this.current,
    () => this.tellEmpty(),
    (what, last) => this.noAnswer(what, last),
  );
  /** Leases that were held for too long. Their work may still run, and may end before their deadlines. */
  private readonly heldTooLong = new Set<Lease>();
  private onEmpty: (() => void) | undefined;

  constructor(private readonly tell: (news: SessionNews) => void) {}

  /** Attaches first, the earliest deadline first, then releases and acquires. All this comes before new acquires. */
  moveTo(session: OpenSession): void {
    this.current = session;
    for (const lease of this.leases.byDeadline()) this.attach(lease, session);
    this.releases.moveTo(session);
    for (const intent of this.intents) this.place(intent, session);
  }

  acquire(acquire: Acquire): Promise<Lease> {
    if (this.intents.isFull) {
      const text = `${maxAcquiresUnanswered} acquires of this client wait already`;
      return Promise.reject(errorOf(text, { reason: 'QUOTA_EXCEEDED', code: status.RESOURCE_EXHAUSTED }));
    }
    const intent = new AcquireIntent(acquire, this);
    this.intents.add(intent);
    const { current } = this;
    // A server that leaves may refuse new acquires. The next session sends the acquire.
    if (current && !current.isLeaving) this.place(intent, current);
    const { signal } = acquire;
    if (signal === undefined) return intent.promise;
    const remove = onAbort(signal, () => this.abandon(intent, signal.reason as Error));
    return intent.promise.finally(remove);
  }

  /**
   * Ends the belief in all leases, cancels all waits, and waits for the answers. A lease with work under it is released at
   * the end of the work. The lease of work that does not end in time is left to the end of its ttl. Does not wait for work
   * whose lease was lost before.
   */
  async finish(timeoutMs: number): Promise<void> {
    for (const intent of this.intents) this.abandon(intent, new ClosedError());
    for (const lease of [...this.leases.byDeadline(), ...this.heldTooLong]) {
      lease.end('CLOSED');
      if (this.leases.working.has(lease)) continue;
      lease.release().catch(() => undefined);
    }
    this.leases.forgetLostWork();
    if (this.isEmpty) return;
    await new Promise<void>((resolve) => {
      this.onEmpty = resolve;
      this.repeats.later(timeoutMs, resolve);
    });
  }

  /** No next session will come. */
  fail(error: HoldfastError): void {
    for (const intent of this.intents) intent.reject(error);
    this.intents.clear();
    this.releases.fail(error);
    this.tellEmpty();
  }

  close(): void {
    this.fail(new ClosedError());
    this.repeats.clear();
    this.heldTooLong.clear();
    this.leases.working.clear();
    for (const lease of this.leases.byDeadline()) lease.end('CLOSED');
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
    if (!this.intents.isWaiting(intent) || this.leases.isOver(message.leaseId)) {
      this.intents.delete(intent);
      return this.releaseUnwanted(message.leaseId, ttlOf(message));
    }
    if (until <= now()) return this.grantedTooLate(intent, message);
    const lease = new Lease(message, until, intent.acquire, this);
    this.intents.delete(intent);
    this.leases.add(lease);
    intent.lease = lease;
    // A repetition in a later session attaches to the lease, so only that session speaks for the lease.
    if (!intent.home || intent.home.number <= session.number) this.settleIn(lease, session, number);
    else if (intent.isPausing) this.attach(lease, intent.home);
    else lease.home = intent.home;
    intent.resolve(lease);
    this.tellEmpty();
    return new LeaseOwner(lease, this);
  }

  cancelled(intent: AcquireIntent): void {
    if (this.intents.delete(intent)) intent.reject(new ClosedError());
    this.tellEmpty();
  }

  failed(intent: AcquireIntent, failed: CommandFailed, session: OpenSession): void {
    if (intent.home !== session) return;
    if (intent.lease && intent.lease.number === undefined) {
      return new AttachOwner(intent.lease, this).failed(failed, session);
    }
    if (!this.intents.has(intent)) return;
    const error = errorOfCommand(failed);
    if (error.reason === 'REQUEST_FINISHED' && intent.takeNewId()) return this.place(intent, session);
    if (!NOT_CARRIED_OUT.has(error.reason)) intent.isUncertain = true;
    if (intent.isPointlessAfter(error)) return this.settleFailed(intent, noAnswer(intent.putOff, error));
    const isDue = () => intent.isPausing && intent.home === session && this.intents.has(intent);
    const again = () => isDue() && this.place(intent, session);
    intent.isPausing = this.repeats.repeat(intent, error, session, again, intent.longestPauseAfter(error));
    if (!intent.isPausing) this.settleFailed(intent, error);
  }

  private settleFailed(intent: AcquireIntent, error: HoldfastError): void {
    this.intents.delete(intent);
    intent.reject(error);
    this.tellEmpty();
  }

  acquireIsLate(intent: AcquireIntent): void {
    const { lastError } = intent;
    const isPutOff = this.lastError === undefined && lastError !== undefined;
    const silence = `no server answered the acquire of ${JSON.stringify(intent.acquire.name)} in time`;
    this.abandon(intent, this.noAnswer(isPutOff ? intent.putOff : silence, lastError));
  }

  whyNotRenewed(lease: Lease): HoldfastError | undefined {
    return this.lastError ?? lease.lastAttachError;
  }

  noAnswerToRelease(lease: Lease, what: string): HoldfastError {
    return this.noAnswer(what, this.releases.lastError(lease.id));
  }

  /** Says why no session lasts, or else why the last attempt of the command failed. */
  noAnswer(what: string, last?: HoldfastError): HoldfastError {
    return noAnswer(what, this.lastError ?? last);
  }

  callbackFailed(intent: AcquireIntent, error: string): void {
    this.tell({ kind: 'callbackFailed', name: intent.acquire.name, error });
  }

  over(lease: Lease): void {
    this.leases.end(lease);
    for (const update of lease.updates.splice(0)) update.reject(lease.signal.reason as Error);
    const cause = lease.loss?.lossCause;
    if (cause === undefined) return;
    // The caller has asked for the end.
    if (cause !== 'CLOSED') this.tell({ kind: 'lost', lease });
    // The session still renews the lease. Nobody may rely on the lease after its deadline, whatever the work does.
    if (cause === 'DEADLINE') this.releaseUnwanted(lease.id, lease.ttl);
    if (cause === 'MAX_HOLD') this.releaseAtDeadline(lease);
  }

  began(lease: Lease): void {
    this.leases.working.add(lease);
  }

  release(lease: Lease): Promise<ReleaseAnswer> {
    lease.end('RELEASED', true);
    this.heldTooLong.delete(lease);
    this.leases.working.delete(lease);
    // The lease is held elsewhere, and is not this client's to end.
    const isElsewhere = lease.loss?.lossCause === 'SUPERSEDED';
    const elsewhere = Promise.resolve<ReleaseAnswer>({ released: false, lossCause: 'SUPERSEDED' });
    const answer = isElsewhere ? elsewhere : this.releases.add(lease.id, lease.ttl);
    this.tellEmpty();
    return answer;
  }

  update(lease: Lease, change: MetadataChange): Promise<void> {
    if (lease.isOver) return Promise.reject(lease.signal.reason as Error);
    const update = new UpdateTask(lease, change, this);
    lease.updates.push(update);
    if (lease.updates[0] === update) beginFirst(lease);
    return update.promise;
  }

  repeatUpdate(task: UpdateTask, error: HoldfastError, session: OpenSession): boolean {
    const { lease } = task;
    const again = () => lease.updates[0] === task && lease.home === session && task.place();
    return this.repeats.repeat(task, error, session, again);
  }

  attached(lease: Lease, session: OpenSession): void {
    this.settleIn(lease, session, lease.number ?? 0);
    this.tell({ kind: 'attached', address: session.address, lease });
  }

  renewalFailed(lease: Lease): void {
    this.tell({ kind: 'renewalFailed', lease });
  }

  releaseUnwanted(leaseId: string, ttlMs: number): void {
    this.releases.add(leaseId, ttlMs).catch(() => undefined);
  }

  repeatAttach(lease: Lease, error: HoldfastError, session: OpenSession): void {
    const again = () => lease.home === session && !lease.isOver && this.attach(lease, session);
    lease.attachFailures += 1;
    lease.lastAttachError = error;
    const { attachFailures, deadline } = lease;
    this.repeats.later(pauseBeforeAttach(attachFailures, error.retryAfterMs, deadline - now()), again);
  }

  private get isEmpty(): boolean {
    return this.intents.isEmpty && this.releases.isEmpty && this.leases.working.size === 0;
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
    lease.attachFailures = 0;
    lease.lastAttachError = undefined;
    lease.updates[0]?.place();
  }

  private place(intent: AcquireIntent, session: OpenSession): void {
    // The attempt in an earlier session has no answer.
    if (intent.home !== undefined && !intent.isPausing) intent.isUncertain = true;
    intent.home = session;
    intent.isPausing = false;
    intent.commandId = session.run(intent.command(), intent);
    if (intent.isAbandoned) this.cancel(intent, session);
  }

  private cancel({ commandId }: AcquireIntent, session: OpenSession): void {
    session.run({ $case: 'cancel', value: { commandId: BigInt(commandId) } }, undefined);
  }

  /** The caller hears at once. The intent stays until the server has answered, because a grant may be under way. */
  private abandon(intent: AcquireIntent, error: Error): void {
    if (!this.intents.isWaiting(intent)) return;
    intent.isAbandoned = true;
    intent.reject(error);
    this.intents.abandon(intent);
    const isSettled = intent.isPausing && !intent.isUncertain;
    if (intent.home === undefined || isSettled) this.intents.delete(intent);
    else this.cancel(intent, intent.home);
  }

  /** The grant is over on arrival, so the work never began. */
  private grantedTooLate(intent: AcquireIntent, message: LeaseMessage): void {
    this.releaseUnwanted(message.leaseId, ttlOf(message));
    if (intent.takeNewId() && this.current) return this.place(intent, this.current);
    this.intents.delete(intent);
    intent.reject(
      noAnswer(`the grant of ${JSON.stringify(intent.acquire.name)} came after the end of its lease`),
    );
  }

  private releaseAtDeadline(lease: Lease): void {
    this.heldTooLong.add(lease);
    this.repeats.later(lease.deadline - now(), () => {
      if (this.heldTooLong.delete(lease)) this.releaseUnwanted(lease.id, lease.ttl);
    });
  }
}

function ttlOf({ ttl }: LeaseMessage): number {
  return (ttl && durationToMs(ttl)) ?? 0;
}
