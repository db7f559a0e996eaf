import type { CommandFailed, LeaseRenewal } from '../../../generated/typescript/holdfast/v1/session_service';
import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import { deadline } from '../deadline';
import { duration, durationToMs } from '../duration';
import { errorOfCommand, type HoldfastError } from '../errors';
import type { HeldLeases } from './held-leases';
import type { Lease } from './lease';
import { causeOfEnd } from './loss-causes';
import type { CommandOwner, Event, OpenSession, Receipt } from './open-session';

/** What the owner of a lease asks of the client. */
export interface OwnerKeeper {
  readonly leases: HeldLeases;
  attached(lease: Lease, session: OpenSession): void;
  renewalFailed(lease: Lease): void;
  /** The lease is over, but a session holds it. */
  releaseUnwanted(leaseId: string, ttlMs: number): void;
  /** Repeats the attach after a pause. */
  repeatAttach(lease: Lease, error: HoldfastError, session: OpenSession): void;
}

/** A lease in one session. */
export class LeaseOwner implements CommandOwner {
  constructor(
    private readonly lease: Lease,
    private readonly keeper: OwnerKeeper,
  ) {}

  event(event: Event, receipt: Receipt, session: OpenSession): void {
    const { lease } = this;
    if (event.$case === 'renewalFailed') {
      this.confirm(event.value.expireOffset, receipt);
      this.keeper.renewalFailed(lease);
    } else if (event.$case === 'ended') {
      // After the attach was sent in a later session, only the answer to the attach decides.
      const isOld = lease.home !== undefined && session.number < lease.home.number;
      if (!isOld) lease.end(causeOfEnd(event.value.cause));
    }
  }

  renewed({ expireOffset, ttl }: LeaseRenewal, receipt: Receipt): void {
    const ttlMs = ttl && durationToMs(ttl);
    if (ttlMs !== undefined) this.keeper.leases.changeTtl(this.lease, ttlMs);
    this.confirm(expireOffset, receipt);
  }

  private confirm(expireOffset: Duration | undefined, { t0, at }: Receipt): void {
    this.lease.confirm(deadline(t0, expireOffset, duration(this.lease.ttl), at));
  }
}

/** The attach of a lease in the next session. */
export class AttachOwner implements CommandOwner {
  constructor(
    private readonly lease: Lease,
    private readonly keeper: OwnerKeeper,
  ) {}

  /** Thousands of attaches may wait for the window, while the work of their leases ends. */
  get isOver(): boolean {
    return this.lease.isOver;
  }

  event(event: Event, receipt: Receipt, session: OpenSession, number: number): CommandOwner | void {
    if (event.$case === 'failed') return this.failed(event.value, session);
    if (event.$case !== 'granted' || event.value.lease === undefined) return;
    const { lease, keeper } = this;
    const { leaseId, fencingToken, expireOffset, ttl } = event.value.lease;
    lease.confirm(deadline(receipt.t0, expireOffset, ttl, receipt.at));
    if (lease.isOver || fencingToken !== lease.token) {
      keeper.releaseUnwanted(leaseId, lease.ttl);
      return;
    }
    if (ttl) keeper.leases.changeTtl(lease, durationToMs(ttl) ?? lease.ttl);
    if (lease.home === session) {
      lease.number = number;
      keeper.attached(lease, session);
    }
    return new LeaseOwner(lease, keeper);
  }

  /** After every error except these two the deadline decides. */
  failed(failed: CommandFailed, session: OpenSession): void {
    const { lease, keeper } = this;
    if (lease.home !== session || lease.isOver) return;
    const error = errorOfCommand(failed);
    if (error.reason === 'LEASE_NOT_HELD') lease.end('LEASE_NOT_HELD');
    else if (error.reason === 'SUPERSEDED') lease.end('SUPERSEDED');
    else keeper.repeatAttach(lease, error, session);
  }
}
