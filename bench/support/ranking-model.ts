import { packForms, kindOf } from '../../src/engine/autocomplete/match';
import { MATCH_KINDS, type MatchKind } from '../../src/engine/autocomplete/suggestion';
import { isTypo } from '../../src/engine/autocomplete/typo';
import type { Person } from './people';

const BETWEEN = '\n';
const ALL: ReadonlySet<MatchKind> = new Set(MATCH_KINDS);

/** Indexes into the people. */
export interface ModelAnswer {
  /** All that match, the best first. */
  readonly ranked: readonly number[];
  /** Those that match as a typo, and so in no other way; in no order. */
  readonly misspelt: readonly number[];
}

interface Ranked {
  readonly index: number;
  readonly kind: number;
}

/**
 * What the contract says is the answer to a query, found by looking at all names: no index, no bound, nothing of the
 * store. Names are as folded, and all different.
 */
export class RankingModel {
  /** All names, one behind the other: engines look through one long string much faster than through many. */
  private readonly joined: string;
  private readonly starts: Uint32Array;
  private readonly byFirstLetter = new Map<string, number[]>();

  constructor(private readonly people: readonly Person[]) {
    this.joined = BETWEEN + people.map(({ name }) => name + BETWEEN).join('');
    this.starts = new Uint32Array(people.length);
    let at = BETWEEN.length;
    people.forEach(({ name }, index) => {
      this.starts[index] = at;
      at += name.length + BETWEEN.length;
      const letter = name.slice(0, 1);
      const known = this.byFirstLetter.get(letter);
      if (known) known.push(index);
      else this.byFirstLetter.set(letter, [index]);
    });
  }

  answer(query: string): ModelAnswer {
    const found: Ranked[] = [];
    for (const index of this.containing(query)) {
      const kind = kindOf(packForms([this.name(index)]), query, ALL);
      if (kind !== undefined) found.push({ index, kind: MATCH_KINDS.indexOf(kind) });
    }
    const misspelt = this.misspelt(query);
    const typos = misspelt.map((index) => ({ index, kind: MATCH_KINDS.indexOf('typo') }));
    const ranked = [...found, ...typos].sort((a, b) => this.compare(a, b));
    return { ranked: ranked.map(({ index }) => index), misspelt };
  }

  private misspelt(query: string): number[] {
    const alike = this.byFirstLetter.get(query.slice(0, 1)) ?? [];
    return alike.filter((index) => isTypo(query, this.name(index)) && !this.name(index).includes(query));
  }

  private containing(query: string): Set<number> {
    const found = new Set<number>();
    for (let at = this.joined.indexOf(query); at >= 0; at = this.joined.indexOf(query, at + 1)) {
      found.add(this.indexAt(at));
    }
    return found;
  }

  /** Whose name stands at this place of all. */
  private indexAt(at: number): number {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.starts[middle] as number) <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private compare(a: Ranked, b: Ranked): number {
    const [one, other] = [this.people[a.index] as Person, this.people[b.index] as Person];
    return a.kind - b.kind || other.weight - one.weight || (one.name < other.name ? -1 : 1);
  }

  private name(index: number): string {
    return (this.people[index] as Person).name;
  }
}

/** How much of what is right was answered, and how much of it at its very place (0 to 1). Nothing to answer: all. */
export function recallOf(
  right: readonly string[],
  answered: readonly string[],
): { found: number; placed: number } {
  if (right.length === 0) return { found: 1, placed: 1 };
  const known = new Set(answered);
  return {
    found: right.filter((id) => known.has(id)).length / right.length,
    placed: right.filter((id, place) => answered[place] === id).length / right.length,
  };
}
