import type { Expected } from './dictionary-model';

/**
 * How many of the typos there are were found. Of the others of an answer all must be there; typos are looked for in
 * bounded time at fewer places, so what counts is how many are missed.
 */
export class TypoRecall {
  private found = 0;
  private expected = 0;
  /** The first that were missed, to be looked at. */
  readonly missed: string[] = [];

  /** The answer as it must be, given what was found: everything but typos, and of them those found, in order. */
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
