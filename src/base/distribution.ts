/** Counts values by size, as plain numbers: the cost of one value is a few comparisons. */
export class Distribution {
  /** `counts[i]`: the values that are at most `bounds[i]` and above the bound before. The last: above all bounds. */
  readonly counts: number[];
  sum = 0;

  /** @param bounds Ascending. */
  constructor(readonly bounds: readonly number[]) {
    this.counts = Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index += 1;
    counts[index] = (counts[index] as number) + 1;
    this.sum += value;
  }
}
