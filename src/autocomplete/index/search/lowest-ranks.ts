/** The lowest of some ranks in a given order, each rank once. The order of ranks is the order of their numbers. */
export class LowestRanks {
  /** The lowest rank first. */
  readonly ranks: number[] = [];

  /** `limit`: at least 1. `compare` must not return 0 for two different ranks. The time of `add` grows with the limit. */
  constructor(
    private readonly limit: number,
    private readonly compare: (a: number, b: number) => number = (a, b) => a - b,
  ) {}

  get isFull(): boolean {
    return this.ranks.length === this.limit;
  }

  /** There must be at least one rank. */
  get highest(): number {
    return this.ranks.at(-1) as number;
  }

  /** False: `add` would change nothing, because there are enough lower ranks. */
  accepts(rank: number): boolean {
    return !this.isFull || this.compare(rank, this.highest) < 0;
  }

  has(rank: number): boolean {
    return this.ranks[this.#indexOf(rank)] === rank;
  }

  /** The rank must be new. */
  add(rank: number): void {
    this.ranks.splice(this.#indexOf(rank), 0, rank);
    if (this.ranks.length > this.limit) this.ranks.pop();
  }

  /** The index of the first rank that is not lower. */
  #indexOf(rank: number): number {
    let low = 0;
    let high = this.ranks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare(this.ranks[middle] as number, rank) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
