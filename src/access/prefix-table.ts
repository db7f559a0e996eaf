/**
 * Values by prefix. `find` returns the value of the longest prefix of a name, and makes no objects. Texts are compared
 * by UTF-16 units. For well-formed texts the result is that of a comparison of their bytes in UTF-8.
 */
export class PrefixTable {
  /** In ascending order. */
  private readonly prefixes: readonly string[];
  private readonly values: readonly number[];
  /** For each prefix, the index of the longest other prefix that it begins with, or -1. */
  private readonly shorter: readonly number[];

  /** @param values no value is `none` */
  constructor(
    values: ReadonlyMap<string, number>,
    private readonly none: number,
  ) {
    const entries = [...values].sort(([one], [other]) => (one < other ? -1 : 1));
    this.prefixes = entries.map(([prefix]) => prefix);
    this.values = entries.map(([, value]) => value);
    const shorter: number[] = [];
    for (const [index, prefix] of this.prefixes.entries()) {
      shorter.push(this.beginningOf(prefix, index - 1, shorter));
    }
    this.shorter = shorter;
  }

  /** The value of the longest prefix of `name`, or `none`. */
  find(name: string): number {
    const index = this.beginningOf(name, this.lastUpTo(name), this.shorter);
    return this.values[index] ?? this.none;
  }

  /** Each prefix with its value, and with the value of the longest other prefix that it begins with. */
  *entries(): Generator<{ readonly prefix: string; readonly value: number; readonly around: number }> {
    for (const [index, prefix] of this.prefixes.entries()) {
      const around = this.values[this.shorter[index] as number] ?? this.none;
      yield { prefix, value: this.values[index] as number, around };
    }
  }

  /** Whether any prefix has a value like this. */
  some(predicate: (value: number) => boolean): boolean {
    return this.values.some(predicate);
  }

  /** The last prefix that is not greater than `name`. Every prefix of `name` is this prefix, or a beginning of it. */
  private lastUpTo(name: string): number {
    const { prefixes } = this;
    let [low, high] = [0, prefixes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((prefixes[middle] as string) <= name) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  private beginningOf(text: string, index: number, shorter: readonly number[]): number {
    let found = index;
    while (found >= 0 && !text.startsWith(this.prefixes[found] as string)) found = shorter[found] as number;
    return found;
  }
}
