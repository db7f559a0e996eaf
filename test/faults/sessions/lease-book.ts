import type { Micros } from '../../support/history';
import type { SessionLease } from './session-lease';

/** The leases that are over and still known. */
const MAX_OVER = 5000;

/** The leases of one client, by their hashes. */
export class LeaseBook {
  private readonly live = new Map<string, SessionLease>();
  private readonly over = new Map<string, SessionLease>();

  add(lease: SessionLease): void {
    this.live.set(lease.held.hash, lease);
  }

  /** The lease with this hash, also after its end. */
  find(hash: string): SessionLease | undefined {
    return this.live.get(hash) ?? this.over.get(hash);
  }

  /** The lease is over for the client. */
  retire(lease: SessionLease): void {
    const { hash } = lease.held;
    this.live.delete(hash);
    this.over.set(hash, lease);
    const [oldest] = this.over.keys();
    if (this.over.size > MAX_OVER && oldest !== undefined) this.over.delete(oldest);
  }

  /** The held leases, the earliest deadline first. */
  held(): SessionLease[] {
    return [...this.live.values()].sort((a, b) => a.deadline - b.deadline);
  }

  /** Infinity without leases. */
  nearestDeadline(): Micros {
    return Math.min(Infinity, ...[...this.live.values()].map(({ deadline }) => deadline));
  }

  /** Infinity without leases. */
  shortestTtlUs(): Micros {
    return Math.min(Infinity, ...[...this.live.values()].map(({ ttlUs }) => ttlUs));
  }
}
