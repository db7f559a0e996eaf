import { reportDefect, StoreFailure } from '../errors';
import type { LeaseToRenew, PermitsStore, Renewed } from './permits-store';

/** The most leases of one command. */
const MOST_TOGETHER = 16;
/** The most leases that are looked at for one command. */
const MOST_LOOKED_AT = 64;

/** A renewal in flight. */
export interface RenewalInFlight {
  readonly sentAt: number;
  /** The client was told that this renewal failed. */
  reported: boolean;
}

/** A held lease, as it is renewed together with others. */
export interface RenewableLease {
  readonly bucket: number;
  /** Until this time a renewal is useful (ms, monotonic clock). */
  readonly confirmedEnd: number;
  readonly toRenew: LeaseToRenew;
  /** Whether the lease may be renewed now: at most half an interval before it is due. */
  mayGoAlong(now: number): boolean;
  beginRenewal(now: number): RenewalInFlight;
  renewed(renewal: RenewalInFlight, reply: Renewed): void;
  /** The store has left the lease as it is. */
  goAlone(renewal: RenewalInFlight): void;
  noReply(renewal: RenewalInFlight): void;
}

/**
 * The held leases of this server, by bucket. When a lease is due, others of its bucket that are due soon go along in the same
 * command: a command for one lease costs the store several times as much as a lease of a full command.
 */
export class Renewals {
  /** The leases of each bucket, the one that was renewed the longest time ago first. */
  private readonly buckets = new Map<number, Set<RenewableLease>>();

  constructor(
    private readonly store: PermitsStore,
    private readonly onDefect: (error: unknown) => void,
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

  /** Renews the lease together with others. Returns false if there are none: then the lease is renewed alone. */
  renewTogether(lease: RenewableLease, now: number): boolean {
    const others = this.othersDueSoon(lease, now);
    if (others.length === 0) return false;
    const together = [lease, ...others];
    const renewals = together.map((one) => [one, one.beginRenewal(now)] as const);
    const forEach = (tell: (one: RenewableLease, renewal: RenewalInFlight, index: number) => void): void => {
      renewals.forEach(([one, renewal], index) => {
        // A defect of one lease must not keep the reply from the others.
        try {
          tell(one, renewal, index);
        } catch (error) {
          this.onDefect(error);
        }
      });
    };
    // A renewal that waits its turn in a busy store is useful as long as a client believes in its lease.
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
            if (reply === undefined) one.goAlone(renewal);
            else one.renewed(renewal, reply);
          }),
        (error) => {
          reportDefect(error, this.onDefect);
          // While grants pause, only the command for a single lease decides. A defect may concern one of the leases only.
          const isAbsent = error instanceof StoreFailure && error.kind !== 'quarantined';
          forEach((one, renewal) => (isAbsent ? one.noReply(renewal) : one.goAlone(renewal)));
        },
      )
      .catch(this.onDefect);
    return true;
  }

  private othersDueSoon(lease: RenewableLease, now: number): RenewableLease[] {
    const others: RenewableLease[] = [];
    let lookedAt = 0;
    for (const other of this.buckets.get(lease.bucket) ?? []) {
      if (others.length === MOST_TOGETHER - 1 || lookedAt === MOST_LOOKED_AT) break;
      lookedAt += 1;
      if (other !== lease && other.mayGoAlong(now)) others.push(other);
    }
    return others;
  }
}
