import { CALM_INTERVAL_MS } from './cluster-watch';
import type { ClusterView } from './cluster-view';
import { bucketsBySlot } from '../keys';

/** A slot had another owner before. */
export interface Move {
  readonly from: string;
  /** Everything that counts for it was there by then: when the map was asked for that named `from`, or a later node, last. */
  readonly knownAt: number;
}

/** Between two looks after which it is not known any more what has happened in between. */
const LONGEST_GAP_MS = 2 * CALM_INTERVAL_MS;
/** Of one slot, the last ones: within one look it does not move more often. */
const MOST_MOVES = 4;

/**
 * Whose each slot is, and where those with names have come from since this server has been looking. What it has seen
 * without a gap says which nodes a bucket may have come through.
 */
export class ClusterMap {
  private current: (string | undefined)[] = [];
  /** By slot, the last one first. */
  private readonly moves = new Map<number, readonly Move[]>();
  /** When the last look began by which a Cluster that works confirmed the map. */
  private confirmedAt = -Infinity;

  get owners(): readonly (string | undefined)[] {
    return this.current;
  }

  ownerOf(slot: number): string | undefined {
    return this.current[slot];
  }

  /** The buckets that a node has, by slot. */
  bucketsOf(address: string): readonly (readonly number[])[] {
    return [...bucketsBySlot].flatMap(([slot, buckets]) => (this.current[slot] === address ? [buckets] : []));
  }

  /** Answers the slots with buckets that have gone from one node to another. */
  adopt(view: ClusterView, askedAt: number, now: number): number[] {
    if (!view.working) this.confirmedAt = -Infinity;
    if (!this.isUnbroken(now)) this.moves.clear();
    const before = this.current;
    this.current = [...view.owners];
    const moved = [...bucketsBySlot.keys()].filter((slot) => this.note(slot, before[slot], now));
    if (view.working) this.confirmedAt = askedAt;
    return moved;
  }

  /** A node has said whose a slot is. Answers as `adopt` does. */
  correct(slot: number, address: string, now: number): number[] {
    const before = this.current[slot];
    this.current[slot] = address;
    return bucketsBySlot.has(slot) && this.note(slot, before, now) ? [slot] : [];
  }

  /** Its buckets are adopted where it is: it does not matter any more where it came from. */
  settle(slot: number, address: string): void {
    if (this.current[slot] === address) this.moves.delete(slot);
  }

  /** The nodes that a slot has come from, the last one first, if it is at `address` now or is just coming there. */
  pathTo(address: string, slot: number, now: number): readonly Move[] {
    if (!this.isUnbroken(now)) return [];
    const owner = this.current[slot];
    const moves = this.moves.get(slot) ?? [];
    if (owner === address || owner === undefined) return owner === undefined ? [] : moves;
    return [{ from: owner, knownAt: this.confirmedAt }, ...moves];
  }

  private note(slot: number, before: string | undefined, now: number): boolean {
    const owner = this.current[slot];
    if (before === owner) return false;
    const moves = this.moves.get(slot) ?? [];
    if (before === undefined || owner === undefined || !this.isUnbroken(now)) this.moves.delete(slot);
    else this.moves.set(slot, [{ from: before, knownAt: this.confirmedAt }, ...moves].slice(0, MOST_MOVES));
    return before !== undefined && owner !== undefined;
  }

  private isUnbroken(now: number): boolean {
    return now - this.confirmedAt <= LONGEST_GAP_MS;
  }
}
