import type { OwnedLease } from '../lease-requests';

/** The revoked leases of a session. The client may release each of them by its number, until the last end of the lease. */
export class RevokedLeases {
  private readonly leases = new Map<number, OwnedLease>();

  constructor(private readonly maxCount: number) {}

  get(leaseNumber: number): OwnedLease | undefined {
    return this.leases.get(leaseNumber);
  }

  /** Also forgets the oldest leases, if they have ended or if there are too many. */
  add(leaseNumber: number, lease: OwnedLease, now: number): void {
    for (const [number, oldest] of this.leases) {
      if (oldest.lastEnd > now && this.leases.size < this.maxCount) break;
      this.leases.delete(number);
    }
    this.leases.set(leaseNumber, lease);
  }
}
