import type { Expected } from './dictionary-model';

/** Counts how many typos were found. The search for typos is bounded, so an answer may miss some of them. */
export class TypoRecall {
  private found = 0;
  private expected = 0;
  /** The first missed typos, for the report after a failure. */
  readonly missed: string[] = [];

  /** The expected answer in order, without the missed typos. */
  compare(query: string, found: readonly Expected[], expected: readonly Expected[]): readonly Expected[] {
    const ids = new Set(found.filter(isTypo).map(keyOf));
    const missing = expected.filter((one) => isTypo(one) && !ids.has(keyOf(one)));
    const typos = expected.filter(isTypo).length;
    this.expected += typos;
    this.found += typos - missing.length;
    for (const { text } of missing) if (this.missed.length < 20) this.missed.push(`${query} for ${text}`);
    return expected.filter((one) => !missing.includes(one));
  }

  get recall(): number {
    return this.expected === 0 ? 0 : this.found / this.expected;
  }

  toString(): string {
    return `${this.found} of ${this.expected} typos found (${(100 * this.recall).toFixed(2)} %)`;
  }
}

function isTypo({ kind, recent }: Expected): boolean {
  return kind === 'typo' && !recent;
}

function keyOf({ entryId }: Expected): string {
  return entryId;
}
