import type { LossCause as ProtoLossCause } from '../../../generated/typescript/holdfast/v1/lease';
import {
  SessionEndCause,
  type CommandFailed,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { status } from '@grpc/grpc-js';
import type { Ending } from '../../support/clients/calls';
import type { LossCause, Micros } from '../../support/history';
import { causeOf, heldOf, type Held } from '../held';
import type { Event, EventValue, LinkCommand, Told } from './link-command';
import type { SessionLease } from './session-lease';
import type { SessionRecord } from './session-record';
import type { SessionRequest } from './session-request';

export interface LeaseCommandOwner {
  readonly record: SessionRecord;
  /** The lease with this hash, also after its end. */
  known(hash: string): SessionLease | undefined;
  granted(command: LeaseCommand, held: Held, told: Told): SessionLease;
  queued(command: LeaseCommand): void;
  /** The end of the lease, as the server tells it. */
  ended(command: LeaseCommand, lease: SessionLease, cause: SessionEndCause, told: Told): void;
  failed(command: LeaseCommand, failure: CommandFailed): void;
  cancelled(command: LeaseCommand): void;
  /** The session has ended. */
  linkEnded(command: LeaseCommand): void;
}

/** What a command asks for: a request, or an attach to a lease. */
export interface LeaseSubject {
  readonly request?: SessionRequest;
  readonly lease?: SessionLease;
}

/** An acquire or attach command in one session, and then the lease that it has brought. */
export class LeaseCommand implements LinkCommand {
  isFinished = false;
  lease: SessionLease | undefined;
  /** The id in its session, which is the lease_number after the grant. */
  id = 0;

  constructor(
    private readonly owner: LeaseCommandOwner,
    /** The call of the history. */
    readonly call: string,
    readonly linkNumber: number,
    readonly subject: LeaseSubject,
  ) {}

  receive(event: Event, told: Told): string | undefined {
    const { record } = this.owner;
    const isHeld = this.lease !== undefined;
    const mayFollow = isHeld ? ['renewalFailed', 'ended'] : ['queued', 'granted', 'cancelled', 'failed'];
    if (!mayFollow.includes(event.$case)) return `${event.$case} must not follow in ${this.call}`;
    switch (event.$case) {
      case 'queued':
        record.write({ type: 'queued', ...this.ofCall, position: event.value.position }, told.at);
        this.owner.queued(this);
        return undefined;
      case 'granted':
        return this.granted(event.value, told);
      case 'renewalFailed':
        this.renewalFailed(event.value.cause, told);
        return undefined;
      case 'ended':
        return this.ended(event.value, told);
      case 'cancelled':
        this.isFinished = true;
        record.ended(this.call, 'CANCELLED', null, told.at);
        this.owner.cancelled(this);
        return undefined;
      case 'failed': {
        const { code, reasonText } = event.value;
        this.isFinished = true;
        record.ended(this.call, status[code] ?? String(code), reasonText, told.at);
        this.owner.failed(this, event.value);
        return undefined;
      }
      default:
        return undefined;
    }
  }

  renewed(expireOffsetUs: Micros, newTtlUs: Micros | undefined, told: Told): void {
    const { lease } = this;
    if (lease === undefined) return;
    lease.checkDeadline(told.at);
    const ttlUs = newTtlUs ?? lease.ttlUs;
    const type = lease.over === undefined ? 'renewed' : 'renewal_ignored';
    const deadline = lease.confirmed(expireOffsetUs, ttlUs, told);
    const { t0, heartbeat, at } = told;
    const body = { lease: lease.held.hash, ttlUs, t0, heartbeat, expireOffsetUs, deadline };
    this.owner.record.write({ type, ...this.ofCall, ...body }, at);
  }

  linkEnded({ code, reason }: Pick<Ending, 'code' | 'reason'>): void {
    if (this.lease?.over === undefined) this.owner.record.ended(this.call, code, reason ?? null);
    this.isFinished = true;
    this.lease?.leave(this);
    this.owner.linkEnded(this);
  }

  private get ofCall(): { client: string; call: string } {
    return this.owner.record.ofCall(this.call);
  }

  private granted({ lease }: EventValue<'granted'>, told: Told): string | undefined {
    const held = heldOf(lease, told.t0, told.at);
    const { request, lease: attached } = this.subject;
    const isRight =
      request === undefined
        ? held.hash === attached?.held.hash && held.token === attached.held.token
        : held.name === request.wanted.name && held.requestId === request.wanted.requestId;
    if (!isRight) return `${this.call} was granted another lease than the client asked for`;
    const known = this.owner.known(held.hash);
    known?.checkDeadline(told.at);
    if (known?.over === undefined) this.owner.record.granted(this.call, held, told);
    else this.grantIgnored(held, told);
    this.lease = this.owner.granted(this, held, told);
    return undefined;
  }

  /** A lease that is over for the client stays over. */
  private grantIgnored({ hash: lease, ttlUs, expireOffsetUs, deadline }: Held, told: Told): void {
    const { record } = this.owner;
    const { t0, heartbeat, at } = told;
    const body = { lease, ttlUs, t0, heartbeat, expireOffsetUs, deadline };
    record.write({ type: 'renewal_ignored', attached: true, ...this.ofCall, ...body }, at);
    record.write({ type: 'let_go', ...this.ofCall, lease, reason: 'deadline' });
  }

  private renewalFailed(cause: ProtoLossCause, { at }: Told): void {
    const { lease } = this;
    lease?.checkDeadline(at);
    if (lease === undefined || lease.over !== undefined) return;
    const body = { lease: lease.held.hash, cause: causeOf(cause) };
    this.owner.record.write({ type: 'renewal_failed', ...this.ofCall, ...body }, at);
  }

  private ended({ cause }: EventValue<'ended'>, told: Told): string | undefined {
    const { lease, owner } = this;
    this.isFinished = true;
    if (lease === undefined) return undefined;
    lease.checkDeadline(told.at);
    lease.leave(this);
    if (lease.over === undefined) this.writeEnd(lease, cause, told.at);
    owner.ended(this, lease, cause, told);
    return undefined;
  }

  /** An older session tells nothing about a lease that a newer session has asked for. */
  private writeEnd(lease: SessionLease, cause: SessionEndCause, at: Micros): void {
    const { record } = this.owner;
    const hash = lease.held.hash;
    const isSuperseded = cause === SessionEndCause.SESSION_END_CAUSE_SUPERSEDED;
    if (isSuperseded) return record.ended(this.call, 'ABORTED', 'SUPERSEDED', at);
    if (lease.speaker !== this) return record.ended(this.call, 'ABORTED', null, at);
    if (cause === SessionEndCause.SESSION_END_CAUSE_RELEASED) {
      record.write({ type: 'released', ...this.ofCall, lease: hash }, at);
      return record.ended(this.call, 'OK', null, at);
    }
    record.write({ type: 'lost', ...this.ofCall, lease: hash, cause: LOSSES[cause] ?? 'UNKNOWN' }, at);
    record.ended(this.call, 'ABORTED', 'LEASE_LOST', at);
  }
}

const LOSSES: Partial<Record<SessionEndCause, LossCause>> = {
  [SessionEndCause.SESSION_END_CAUSE_EXPIRED]: 'EXPIRED',
  [SessionEndCause.SESSION_END_CAUSE_REVOKED]: 'REVOKED',
  [SessionEndCause.SESSION_END_CAUSE_STORE_RESET]: 'STORE_RESET',
  [SessionEndCause.SESSION_END_CAUSE_STORE_UNAVAILABLE]: 'STORE_UNAVAILABLE',
};
