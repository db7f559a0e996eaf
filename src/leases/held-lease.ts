import type { Clock } from '../base/clock';
import { reportDefect, type HoldfastError } from '../base/errors';
import type { Runtime } from '../base/runtime';
import type { BackgroundCommands, Pauses } from '../flow/backoff';
import type { CountedLeases } from './allowance';
import { confirmedEnd, latestEnd, type LeaseEnd, type LossCause, requestKey, type Resource } from './lease';
import { draining, leaseLost, reattach, superseded } from './lease-errors';
import type { LeaseId } from './lease-id';
import type { LeaseMeters, LeaseObserver, ServiceMeters } from './lease-meters';
import type { Life } from './life';
import type { Granted, LeaseToRenew, LeaseStore, Renewed, RenewReply } from './lease-store';
import type { RenewableLease, RenewalInFlight, Renewals } from './renewals';
import type { LeaseOwner, OwnedLease } from './lease-requests';
import type { TimedWork, TimerEntry, TimerQueue } from '../flow/timer-queue';

const MAX_RENEWAL_INTERVAL_MS = 10_000;
const MAX_RETRY_INTERVAL_MS = 1000;
const MIN_RETRY_INTERVAL_MS = 20;
/** The pauses between the tries of a late release. */
export const LATE_RELEASE_PAUSES: Pauses = { firstMs: 1000, growth: 1, longestMs: 1000 };

/** The parts that all held leases of a server share. */
export interface HeldLeaseContext {
  readonly runtime: Runtime;
  readonly store: LeaseStore;
  readonly timers: TimerQueue;
  /** Sends the releases and revocations of lost leases. */
  readonly lateReleases: BackgroundCommands;
  readonly countedLeases: CountedLeases;
  readonly meters: LeaseMeters;
  readonly observer?: LeaseObserver | undefined;
  readonly renewals: Renewals;
  /** Called once when a lease is no longer held. */
  readonly forget: (lease: HeldLease) => void;
}

export interface HeldLeaseOptions {
  readonly context: HeldLeaseContext;
  readonly owner: LeaseOwner;
  /** Of the call that has brought the lease. */
  readonly life: Life;
  readonly resource: Resource;
  readonly requestId: string;
  /** When this server learned that `life` speaks for the lease (wait-queue.ts). */
  readonly since: number;
}

/**
 * A lease that a stream or a session holds. The lease is renewed every third of its ttl, and at least every 10 s,
 * while the stream is open. In a session, the lease is renewed only while heartbeats of the client arrive.
 *
 * ```
 * holding ──released──▶ ended (OK)
 *         ──another stream attached──▶ ended (SUPERSEDED)
 *         ──age limit or draining of a stream──▶ renewed once more ──▶ ended (REATTACH, DRAINING)
 *         ──the store reports the end, or the last confirmed end passes──▶ lost ──▶ ended (LEASE_LOST)
 *         ──a new policy no longer allows the name──▶ lost (REVOKED) ──▶ ended (LEASE_LOST)
 *         ──the stream or the session breaks──▶ ended; the lease continues to its end
 * ```
 *
 * A failed renewal is retried until the last end of the lease that the store has confirmed. A renewal without a reply
 * does not move this end. After `lost` there are no renewals, and a late release follows when no client can believe in
 * the lease any more. See docs/design/leases.md, rule 2.
 */
export class HeldLease implements OwnedLease, RenewableLease, TimedWork {
  /** Identifies the request in a map. */
  readonly key: string;
  readonly bucket: number;
  private readonly secret: string;
  private readonly fencingToken: bigint;
  private readonly grantedAt: number;
  private ttlMs: number;
  /** The latest end that the store has confirmed. */
  private confirmed: LeaseEnd;
  /** The same end as a time (ms). A client may believe in the lease until then. */
  confirmedEnd: number;
  /** No client believes in the lease after this time, unless a later answer confirms the lease. */
  private believedUntil: number;
  private renewAt: number;
  private renewal: RenewalInFlight | undefined;
  /** True: the last renewal has failed. */
  private failing = false;
  /** True: the client was silent when the renewal was due, and the lease is renewed after the next heartbeat. */
  private awaitsHeartbeat = false;
  /** True: the lease is renewed with a command of its own. */
  private isAlone = false;
  /** True: a hint came during a renewal. The renewal may have run before the change that the hint reports. */
  private recheckAgain = false;
  /** Set if the stream ends after one more renewal: the error with which the stream ends. */
  private closingError: HoldfastError | undefined;
  private ended = false;
  private isReleasing = false;
  private timer: TimerEntry | undefined;
  /** The time at which the stream must end with REATTACH (ms). */
  private readonly ageLimitAt: number;

  constructor(
    private readonly options: HeldLeaseOptions,
    granted: Granted,
  ) {
    const { context, life, resource, requestId } = options;
    this.key = requestKey(resource, requestId);
    this.bucket = context.store.bucketOf(resource.name);
    this.secret = granted.secret;
    this.fencingToken = granted.fencingToken;
    this.grantedAt = granted.sentAt;
    this.ttlMs = granted.ttlMs;
    this.confirmed = { sentAt: granted.sentAt, remainingMs: granted.remainingMs };
    this.confirmedEnd = confirmedEnd(granted);
    this.believedUntil = latestEnd(this.clock.now(), granted.remainingMs);
    this.ageLimitAt = life.ageLimitAt(granted.ttlMs);
    this.renewAt = granted.sentAt + Math.min(granted.remainingMs / 2, this.renewalInterval());
    this.meters.heldCount += 1;
    context.renewals.add(this);
    this.schedule();
  }

  get since(): number {
    return this.options.since;
  }

  get id(): LeaseId {
    const { resource, requestId } = this.options;
    return { resource, requestId, secret: this.secret };
  }

  get toRenew(): LeaseToRenew {
    const { resource, requestId, life } = this.options;
    const { attach, call } = life;
    return { resource, requestId, attach, secret: this.secret, identity: call.identity };
  }

  get lastEnd(): number {
    return this.believedUntil;
  }

  /** The lease is due. */
  run(): void {
    this.tick();
  }

  /** Renews now, because a hint says that the lease may have ended. */
  recheck(): void {
    this.isAlone = true;
    if (this.renewal) this.recheckAgain = true;
    else this.renewAt = this.clock.now();
    this.tick();
  }

  supersede(): void {
    this.end(superseded(this.options.resource));
  }

  /** Renews once more, then ends the stream. A session itself ends all its leases, when the client has moved them. */
  drain(): void {
    if (this.options.life.kind === 'stream') this.close(draining());
  }

  /**
   * The holder has asked for the release of a lease in a session. If the answer is lost, the lease ends by itself: a session
   * would renew it for ever. A caller without the secret or the identity of the lease changes nothing.
   */
  releaseAsked(secret: string, identity: string): void {
    const { kind, call } = this.options.life;
    if (kind === 'session' && secret === this.secret && identity === call.identity) {
      this.isReleasing = true;
    }
  }

  /** A command of this server was answered with the end of the lease. */
  learnEnd(cause: LossCause | 'released'): void {
    if (this.ended) return;
    if (cause === 'released') this.endReleased();
    else this.lose(cause, true);
  }

  abandon(): void {
    this.end(undefined);
  }

  revokeHeld(): void {
    if (this.ended) return;
    this.lose('revoked', true);
    const { context, resource, requestId, life } = this.options;
    const target = { kind: 'lease', requestId, fencingToken: this.fencingToken } as const;
    const command = { target, force: false, after: undefined, caller: life.call.connection };
    const until = this.clock.now() + this.ttlMs;
    context.lateReleases.run(() => context.store.revoke(resource, command), until);
  }

  private get meters(): ServiceMeters {
    const { context, resource } = this.options;
    return context.meters[resource.service];
  }

  private get clock(): Clock {
    return this.options.context.runtime.clock;
  }

  private close(reason: HoldfastError): void {
    if (this.closingError) return;
    this.closingError = reason;
    if (!this.renewal) this.renewAt = this.clock.now();
    this.tick();
  }

  private get nextRenewalAt(): number {
    return this.isReleasing ? Infinity : this.renewAt;
  }

  private renewalInterval(): number {
    return Math.min(this.ttlMs / 3, MAX_RENEWAL_INTERVAL_MS);
  }

  private overdueAt(renewal: RenewalInFlight): number {
    return renewal.sentAt + this.ttlMs / 2;
  }

  private tick(): void {
    const now = this.clock.now();
    if (this.ended) return;
    if (now >= this.confirmedEnd)
      return this.lose(this.failing || this.renewal ? 'store-unavailable' : 'expired');
    if (now >= this.ageLimitAt && !this.closingError) return this.close(reattach(this.options.resource));
    if (this.renewal && !this.renewal.reported && now >= this.overdueAt(this.renewal)) {
      this.renewal.reported = true;
      this.reportFailure(now);
    }
    if (now >= this.nextRenewalAt) {
      if (this.isSilent(now)) this.renewAtNextHeartbeat();
      else return this.renew(now);
    }
    this.schedule();
  }

  private isSilent(now: number): boolean {
    return this.options.life.isSilent(now, this.grantedAt, this.ttlMs);
  }

  private renewAtNextHeartbeat(): void {
    this.renewAt = Infinity;
    this.awaitsHeartbeat = true;
    this.options.life.onNextHeartbeat(() => {
      this.awaitsHeartbeat = false;
      if (this.ended) return;
      if (this.renewal === undefined) this.renewAt = this.clock.now();
      // Does not renew now: the renewals of ten thousand leases in one turn of the event loop take 140 ms.
      this.schedule();
    });
  }

  private schedule(): void {
    this.timer?.cancel();
    const overdueAt = this.renewal && !this.renewal.reported ? this.overdueAt(this.renewal) : Infinity;
    const time = Math.min(
      this.confirmedEnd,
      this.nextRenewalAt,
      overdueAt,
      this.closingError ? Infinity : this.ageLimitAt,
    );
    this.timer = this.options.context.timers.at(time, this);
  }

  mayRenewEarly(now: number): boolean {
    if (this.isAlone || now >= this.confirmedEnd) return false;
    return this.nextRenewalAt - now <= this.renewalInterval() / 2 && !this.isSilent(now);
  }

  beginRenewal(now: number): RenewalInFlight {
    this.renewal = { sentAt: now, reported: false };
    this.renewAt = Infinity;
    this.schedule();
    return this.renewal;
  }

  renewed(renewal: RenewalInFlight, reply: Renewed): void {
    if (this.isAnswered(renewal)) this.handleRenewed(reply);
  }

  renewAlone(renewal: RenewalInFlight): void {
    if (!this.isAnswered(renewal)) return;
    this.isAlone = true;
    if (this.renewal === undefined) this.renewAt = this.clock.now();
    this.tick();
  }

  private renew(now: number): void {
    const { context, resource, life } = this.options;
    if (!this.isAlone && context.renewals.renewTogether(this, now)) return;
    const { requestId, secret, attach, identity } = this.toRenew;
    const stream = { attach, takeOver: false };
    const command = {
      requestId,
      secret,
      identity,
      ttlMs: undefined,
      stream,
      caller: life.call.connection,
      patientUntil: this.confirmedEnd,
    };
    const renewal = this.beginRenewal(now);
    context.store
      .renew(resource, command)
      .then(
        (reply) => this.handleReply(renewal, reply),
        (error) => {
          reportDefect(error, context.runtime.defect);
          this.noReply(renewal);
        },
      )
      .catch(context.runtime.defect);
  }

  /** A process that was suspended past the confirmed end must not report a renewal. */
  private isAnswered(renewal: RenewalInFlight): boolean {
    if (this.ended) return false;
    if (this.clock.now() >= this.confirmedEnd) {
      this.tick();
      return false;
    }
    if (this.renewal === renewal) this.renewal = undefined;
    return true;
  }

  private handleReply(renewal: RenewalInFlight, reply: RenewReply): void {
    if (!this.isAnswered(renewal)) return;
    if (reply.kind === 'finished' || reply.kind === 'gone')
      this.options.context.countedLeases.ended(this.key);
    switch (reply.kind) {
      case 'granted':
        return this.handleRenewed(reply);
      case 'finished':
        return this.learnEnd(reply.cause);
      case 'superseded':
        return this.supersede();
      case 'gone':
        return this.lose('store-reset', true);
    }
  }

  private handleRenewed(reply: Renewed): void {
    const { context, owner, life } = this.options;
    this.meters.slackMs.add(this.confirmedEnd - this.clock.now());
    const newTtlMs = reply.ttlMs === this.ttlMs ? undefined : reply.ttlMs;
    this.ttlMs = reply.ttlMs;
    this.failing = false;
    this.isAlone = this.recheckAgain;
    context.renewals.add(this);
    this.believedUntil = Math.max(this.believedUntil, latestEnd(this.clock.now(), reply.remainingMs));
    context.countedLeases.lives(life.call, this.key, reply.remainingMs);
    const end = confirmedEnd(reply);
    if (end > this.confirmedEnd) {
      this.confirmedEnd = end;
      this.confirmed = { sentAt: reply.sentAt, remainingMs: reply.remainingMs };
    }
    owner.send({ kind: 'renewed', end: this.confirmed, newTtlMs });
    if (this.closingError) return this.end(this.closingError);
    this.renewAt = this.recheckAgain ? this.clock.now() : reply.sentAt + this.renewalInterval();
    this.recheckAgain = false;
    this.tick();
  }

  noReply(renewal: RenewalInFlight): void {
    const now = this.clock.now();
    if (this.ended || now >= this.confirmedEnd) return this.tick();
    if (this.renewal === renewal) this.renewal = undefined;
    if (!renewal.reported) this.reportFailure(now);
    this.tick();
  }

  /** Reports the failed renewal to the client, and schedules a retry. */
  private reportFailure(now: number): void {
    this.failing = true;
    this.meters.failedRenewalCount += 1;
    this.options.owner.send({ kind: 'renewal-failed', end: this.confirmed, cause: 'store-unavailable' });
    if (this.closingError) return this.end(this.closingError);
    const pause = Math.max(this.ttlMs / 10, MIN_RETRY_INTERVAL_MS);
    this.renewAt = now + Math.min(pause, MAX_RETRY_INTERVAL_MS);
  }

  private endReleased(): void {
    this.meters.holdMs.add(this.clock.now() - this.grantedAt);
    const { context, owner, life, resource } = this.options;
    owner.send({ kind: 'released' });
    context.observer?.released(life.call, resource.service);
    this.end(undefined);
  }

  private lose(cause: LossCause, byStore = false): void {
    // A silence counts only if the server noticed it before the end: after a stall of the server, each client seems
    // to be silent.
    const counted = cause === 'expired' && this.awaitsHeartbeat ? 'client-silent' : cause;
    this.meters.lost[counted] += 1;
    this.meters.holdMs.add(this.clock.now() - this.grantedAt);
    const { context, owner, life, resource } = this.options;
    owner.send({ kind: 'lost', cause });
    context.observer?.lost(life.call, resource.service, counted);
    this.end(leaseLost(resource, cause));
    if (!byStore) this.releaseLate();
  }

  /**
   * A renewal without a reply may have prolonged the lease in the store. The release waits, because `lost` may not have
   * reached the client. A server that closes earlier leaves the lease to its end.
   */
  private releaseLate(): void {
    const { context, resource, requestId, life } = this.options;
    const { attach, call } = life;
    const command = { requestId, secret: this.secret, identity: call.identity, afterLoss: { attach } };
    const at = this.believedUntil;
    context.lateReleases.runAt(at, () => context.store.release(resource, command), at + this.ttlMs);
  }

  private end(status: HoldfastError | undefined): void {
    if (this.ended) return;
    this.ended = true;
    this.meters.heldCount -= 1;
    this.timer?.cancel();
    const { context, owner } = this.options;
    context.forget(this);
    owner.end(status);
  }
}
