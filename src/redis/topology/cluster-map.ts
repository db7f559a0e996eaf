import { CALM_INTERVAL_MS, type ClusterView } from './cluster-watch';
import { bucketsBySlot } from '../buckets';

/** A slot has moved away from a node. */
export interface Move {
  readonly from: string;
  /**
   * When the last view with the slot at `from` was requested (ms). A fact about `from` that is older than this time was
   * known before the slot moved.
   */
  readonly knownAt: number;
}

/** The longest time between two views (ms). After a longer time, a move may have been missed. */
const LONGEST_GAP_MS = 2 * CALM_INTERVAL_MS;
/** How many moves of one slot the map remembers. */
const MOST_MOVES = 4;

/**
 * The owner of each slot, and the nodes that slots with buckets have come from. As long as no view is missing, the map
 * knows every node that a bucket may have come through.
 */
export class ClusterMap {
  private current: (string | undefined)[] = [];
  /** By slot, the newest move first. */
  private readonly moves = new Map<number, readonly Move[]>();
  /** When the last view of a working Cluster was requested (ms). */
  private confirmedAt = -Infinity;

  get owners(): readonly (string | undefined)[] {
    return this.current;
  }

  ownerOf(slot: number): string | undefined {
    return this.current[slot];
  }

  /** The buckets of a node, by slot. */
  bucketsOf(address: string): readonly (readonly number[])[] {
    return [...bucketsBySlot].flatMap(([slot, buckets]) => (this.current[slot] === address ? [buckets] : []));
  }

  /** Takes the owners of all slots from `view`. Returns the slots with buckets that have moved to another node. */
  adopt(view: ClusterView, askedAt: number, now: number): number[] {
    if (!view.working) this.confirmedAt = -Infinity;
    if (!this.isUnbroken(now)) this.moves.clear();
    const before = this.current;
    this.current = [...view.owners];
    const moved = [...bucketsBySlot.keys()].filter((slot) => this.note(slot, before[slot], now));
    if (view.working) this.confirmedAt = askedAt;
    return moved;
  }

  /**
   * Sets the owner of one slot, after a redirection has named the owner. Returns the slot if `adopt` would return it.
   */
  correct(slot: number, address: string, now: number): number[] {
    const before = this.current[slot];
    this.current[slot] = address;
    return bucketsBySlot.has(slot) && this.note(slot, before, now) ? [slot] : [];
  }

  /** Forgets the moves of a slot, because the epochs of its buckets are adopted at the present node. */
  settle(slot: number, address: string): void {
    if (this.current[slot] === address) this.moves.delete(slot);
  }

  /** The nodes that a slot has come through, the last node first, if the slot is at `address` or is moving there. */
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
