import { now } from '../clock';
import { NUMBERS } from '../numbers';
import type { Lease } from './lease';

const { maxEndedLeasesRemembered } = NUMBERS.session;

/** The leases in which this process believes, and the ids of those that are over. */
export class HeldLeases {
  /** Leases with work under them, also if they are over. Released at the end of the work only. */
  readonly working = new Set<Lease>();
  private readonly held = new Map<string, Lease>();
  private readonly over = new Set<string>();
  /** The number of leases by ttl. */
  private readonly ttls = new Map<number, number>();

  get count(): number {
    return this.held.size;
  }

  get(id: string): Lease | undefined {
    return this.held.get(id);
  }

  /** A lease that is over stays over, whatever a session reports. */
  isOver(id: string): boolean {
    return this.over.has(id);
  }

  add(lease: Lease): void {
    this.held.set(lease.id, lease);
    this.countTtl(lease.ttl, 1);
  }

  end(lease: Lease): void {
    if (this.held.delete(lease.id)) this.countTtl(lease.ttl, -1);
    this.over.add(lease.id);
    if (this.over.size <= maxEndedLeasesRemembered) return;
    for (const earliest of this.over) {
      this.over.delete(earliest);
      return;
    }
  }

  /** A lease that was lost before the client was closed protects its work no more. */
  forgetLostWork(): void {
    for (const lease of this.working) if (lease.loss?.lossCause !== 'CLOSED') this.working.delete(lease);
  }

  changeTtl(lease: Lease, ttlMs: number): void {
    if (ttlMs === lease.ttl || !this.held.has(lease.id)) return;
    this.countTtl(lease.ttl, -1);
    lease.ttl = ttlMs;
    this.countTtl(ttlMs, 1);
  }

  /** Infinity without a lease. */
  get shortestTtlMs(): number {
    let shortest = Infinity;
    for (const ttlMs of this.ttls.keys()) shortest = Math.min(shortest, ttlMs);
    return shortest;
  }

  /** The time to the nearest deadline (ms). Infinity without a lease. */
  nearestDeadlineMs(): number {
    let nearest = Infinity;
    for (const lease of this.held.values()) nearest = Math.min(nearest, lease.deadline);
    return nearest - now();
  }

  /** The earliest deadline first. Without leases that are over. */
  byDeadline(): Lease[] {
    return [...this.held.values()].filter((lease) => !lease.isOver).sort((a, b) => a.deadline - b.deadline);
  }

  private countTtl(ttlMs: number, change: number): void {
    const count = (this.ttls.get(ttlMs) ?? 0) + change;
    if (count > 0) this.ttls.set(ttlMs, count);
    else this.ttls.delete(ttlMs);
  }
}
