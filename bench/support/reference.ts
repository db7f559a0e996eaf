import { kindOf, packForms } from '../../src/autocomplete/text/match';
import { MATCH_KINDS, type MatchKind } from '../../src/autocomplete/suggestion';
import type { Item } from '../words/corpus';

const PAGE = 10;

export interface Judged {
  readonly query: string;
  readonly kinds: readonly MatchKind[];
  /** Whether matches are ranked by weight alone. Otherwise by kind, weight and text, as the contract requires. */
  readonly byWeight: boolean;
  /** The ids of the answered entries, in order. */
  readonly answered: readonly string[];
}

export interface Recall {
  /** The share of the best ten that were answered. Entries of the same kind and weight count alike. */
  readonly found: number;
  /** The share of the best ten that were answered at their exact position. */
  readonly placed: number;
}

interface Text {
  readonly folded: string;
  /** The text in the form in which the engine's reference of matching compares it. */
  readonly packed: string;
  readonly weight: number;
}

interface Match {
  readonly index: number;
  readonly kind: number;
}

/**
 * Computes the exact answers of queries by a comparison of each text with the query, without an index and without the store.
 * The comparison is the engine's reference of matching, which the engine's tests prove.
 */
export class Reference {
  private readonly best = new Map<string, readonly Match[]>();
  /** The indexes by falling weight. */
  private readonly byWeight: readonly number[];

  private constructor(private readonly texts: readonly Text[]) {
    this.byWeight = texts.map((_, index) => index).sort((a, b) => this.weight(b) - this.weight(a));
  }

  static of(items: Iterable<Pick<Item, 'folded' | 'weight'>>): Reference {
    return new Reference(
      Array.from(items, ({ folded, weight }) => ({ folded, weight, packed: packForms([folded]) })),
    );
  }

  judge({ query, kinds, byWeight, answered }: Judged): Recall {
    const wanted = new Set(kinds);
    const best = this.bestTen(query, wanted, byWeight);
    const last = best.at(-1);
    if (last === undefined) return { found: 1, placed: 1 };
    const right = [...new Set(answered.slice(0, PAGE).map(Number))].filter((index) => {
      const match = this.match(index, query, wanted, byWeight);
      return match !== undefined && this.rank(match, last) <= 0;
    });
    const placed = best.filter(({ index }, place) => answered[place] === String(index));
    return { found: Math.min(1, right.length / best.length), placed: placed.length / best.length };
  }

  private bestTen(query: string, wanted: ReadonlySet<MatchKind>, byWeight: boolean): readonly Match[] {
    const key = JSON.stringify([query, [...wanted], byWeight]);
    const known = this.best.get(key);
    if (known) return known;
    const bestKind = byWeight ? 0 : Math.min(...[...wanted].map((kind) => MATCH_KINDS.indexOf(kind)));
    let best: Match[] = [];
    for (const index of this.byWeight) {
      const last = best[PAGE - 1];
      if (last?.kind === bestKind && this.weight(index) < this.weight(last.index)) break;
      const match = this.match(index, query, wanted, byWeight);
      if (match === undefined || (last !== undefined && this.compare(match, last) >= 0)) continue;
      best = [...best, match].sort((a, b) => this.compare(a, b)).slice(0, PAGE);
    }
    this.best.set(key, best);
    return best;
  }

  private match(
    index: number,
    query: string,
    wanted: ReadonlySet<MatchKind>,
    byWeight: boolean,
  ): Match | undefined {
    const text = this.texts[index];
    // Only typos match a text that does not contain the query, and typos have the right first letter.
    const isPossible = text?.folded.includes(query) || (wanted.has('typo') && text?.folded[0] === query[0]);
    const kind = isPossible ? kindOf(text?.packed ?? '', query, wanted) : undefined;
    return kind && { index, kind: byWeight ? 0 : MATCH_KINDS.indexOf(kind) };
  }

  /** Compares by kind and weight. */
  private rank(a: Match, b: Match): number {
    return a.kind - b.kind || this.weight(b.index) - this.weight(a.index);
  }

  private compare(a: Match, b: Match): number {
    return this.rank(a, b) || byUnits(this.texts[a.index]?.folded ?? '', this.texts[b.index]?.folded ?? '');
  }

  private weight(index: number): number {
    return this.texts[index]?.weight ?? 0;
  }
}

/** The letters of the words are below U+D800, where the order of UTF-16 units is the order of code points. */
function byUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
