import { reportDefect, StoreFailure } from '../base/errors';
import type { Runtime } from '../base/runtime';
import type { LeaseToRenew, LeaseStore, Renewed } from './lease-store';

/** The most leases that one command renews. */
const MOST_TOGETHER = 16;
/** The most leases of the bucket that are examined for one command. */
const MOST_EXAMINED = 64;

export interface RenewalInFlight {
  readonly sentAt: number;
  /** The client was told that this renewal failed. */
  reported: boolean;
}

/** A held lease that can be renewed together with other leases. */
export interface RenewableLease {
  readonly bucket: number;
  /** A renewal is useful until this time (ms, monotonic clock). */
  readonly confirmedEnd: number;
  readonly toRenew: LeaseToRenew;
  /** Whether the lease may be renewed now: at most half an interval before it is due. */
  mayRenewEarly(now: number): boolean;
  beginRenewal(now: number): RenewalInFlight;
  renewed(renewal: RenewalInFlight, reply: Renewed): void;
  /** The common command has not renewed the lease, so the lease needs a command for itself. */
  renewAlone(renewal: RenewalInFlight): void;
  noReply(renewal: RenewalInFlight): void;
}

/**
 * The held leases of this server, by bucket. The command for a lease that is due also renews leases of the bucket that
 * are due soon. A lease in a full command costs the store a fraction of a command for one lease.
 */
export class Renewals {
  /** The leases of each bucket, in the order of their last renewal: the oldest renewal first. */
  private readonly buckets = new Map<number, Set<RenewableLease>>();

  constructor(
    private readonly store: LeaseStore,
    private readonly runtime: Runtime,
  ) {}

  /** The lease was granted or renewed. */
  add(lease: RenewableLease): void {
    let leases = this.buckets.get(lease.bucket);
    if (leases === undefined) this.buckets.set(lease.bucket, (leases = new Set()));
    leases.delete(lease);
    leases.add(lease);
  }

  delete(lease: RenewableLease): void {
    const leases = this.buckets.get(lease.bucket);
    leases?.delete(lease);
    if (leases?.size === 0) this.buckets.delete(lease.bucket);
  }

  /**
   * Renews the lease together with other leases of its bucket. Returns false, and renews nothing, if no other lease is
   * due soon.
   */
  renewTogether(lease: RenewableLease, now: number): boolean {
    const others = this.othersDueSoon(lease, now);
    if (others.length === 0) return false;
    const together = [lease, ...others];
    const renewals = together.map((one) => [one, one.beginRenewal(now)] as const);
    const forEach = (tell: (one: RenewableLease, renewal: RenewalInFlight, index: number) => void): void => {
      renewals.forEach(([one, renewal], index) => {
        // A defect of one lease must not stop the replies to the other leases.
        try {
          tell(one, renewal, index);
        } catch (error) {
          this.runtime.defect(error);
        }
      });
    };
    // A renewal that waits for its turn in a busy store is useful until the last of its leases may have ended.
    const patientUntil = Math.max(...together.map((one) => one.confirmedEnd));
    this.store
      .renewMany(
        together.map((one) => one.toRenew),
        { patientUntil },
      )
      .then(
        (replies) =>
          forEach((one, renewal, index) => {
            const reply = replies[index];
            if (reply === undefined) one.renewAlone(renewal);
            else one.renewed(renewal, reply);
          }),
        (error) => {
          reportDefect(error, this.runtime.defect);
          // While grants pause, only the command for a single lease can decide. A defect may concern a single lease.
          const isAbsent = error instanceof StoreFailure && error.kind !== 'quarantined';
          forEach((one, renewal) => (isAbsent ? one.noReply(renewal) : one.renewAlone(renewal)));
        },
      )
      .catch(this.runtime.defect);
    return true;
  }

  private othersDueSoon(lease: RenewableLease, now: number): RenewableLease[] {
    const others: RenewableLease[] = [];
    let examined = 0;
    for (const other of this.buckets.get(lease.bucket) ?? []) {
      if (others.length === MOST_TOGETHER - 1 || examined === MOST_EXAMINED) break;
      examined += 1;
      if (other !== lease && other.mayRenewEarly(now)) others.push(other);
    }
    return others;
  }
}
