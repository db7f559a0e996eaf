import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import { LossCause as ProtoLossCause, type Lease } from '../../generated/typescript/holdfast/v1/lease';
import type { Ending } from '../support/clients/calls';
import { ms } from '../support/clients/lease-client';
import type { LossCause, Micros } from '../support/history';
import { hashLeaseId } from '../support/history-recorder';

export class CallEnded extends Error {
  override readonly name = 'CallEnded';

  constructor(readonly ending: Ending) {
    super(`${ending.code}/${ending.reason}: ${ending.text}`);
  }
}

/** A client's knowledge of a lease, from one answer. */
export interface Held {
  readonly leaseId: string;
  readonly name: string;
  readonly requestId: string;
  readonly token: bigint;
  readonly permitCount: number;
  /** Identifies the lease in the history. */
  readonly hash: string;
  readonly ttlUs: Micros;
  readonly expireOffsetUs: Micros;
  /** The end of the time in which the client may believe in the lease. */
  readonly deadline: Micros;
}

/** Reads a lease that was received at `at` on a call that was sent at `t0`. */
export function heldOf(lease: Lease | undefined, t0: Micros, at: Micros): Held {
  if (lease === undefined) throw new Error('the answer lacks its lease');
  const ttlUs = Math.round(ms(lease.ttl) * 1000);
  const expireOffsetUs = microsOf(lease.expireOffset);
  return {
    leaseId: lease.leaseId,
    name: lease.name,
    requestId: lease.requestId,
    token: lease.fencingToken,
    permitCount: lease.permitCount,
    hash: hashLeaseId(lease.leaseId),
    ttlUs,
    expireOffsetUs,
    deadline: deadlineOf(t0, expireOffsetUs, at, ttlUs),
  };
}

/** The contract's deadline rule, on the clock of histories. */
export function deadlineOf(t0: Micros, expireOffsetUs: Micros, at: Micros, ttlUs: Micros): Micros {
  return Math.min(t0 + expireOffsetUs, at + ttlUs);
}

export function microsOf(span: Duration | undefined): Micros {
  return Math.floor(ms(span) * 1000);
}

const CAUSES: Readonly<Record<ProtoLossCause, LossCause>> = {
  [ProtoLossCause.LOSS_CAUSE_UNSPECIFIED]: 'UNKNOWN',
  [ProtoLossCause.LOSS_CAUSE_EXPIRED]: 'EXPIRED',
  [ProtoLossCause.LOSS_CAUSE_REVOKED]: 'REVOKED',
  [ProtoLossCause.LOSS_CAUSE_STORE_RESET]: 'STORE_RESET',
  [ProtoLossCause.LOSS_CAUSE_STORE_UNAVAILABLE]: 'STORE_UNAVAILABLE',
  [ProtoLossCause.UNRECOGNIZED]: 'UNKNOWN',
};

export function causeOf(cause: ProtoLossCause): LossCause {
  return CAUSES[cause];
}
