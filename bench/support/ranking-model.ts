import { packForms, kindOf } from '../../src/engine/autocomplete/match';
import { MATCH_KINDS, type MatchKind } from '../../src/engine/autocomplete/suggestion';
import { isTypo } from '../../src/engine/autocomplete/typo';
import type { Person } from './people';

const BETWEEN = '\n';
const ALL: ReadonlySet<MatchKind> = new Set(MATCH_KINDS);

/** Indexes into the list of people. */
export interface ModelAnswer {
  /** All matches, the best match first. */
  readonly ranked: readonly number[];
  /** The matches of kind typo, unordered. */
  readonly typos: readonly number[];
}

interface Ranked {
  readonly index: number;
  readonly kind: number;
}

/**
 * Computes the answer that the contract requires by a search of all names, without an index, a bound or the store.
 * Names must be folded and different.
 */
export class RankingModel {
  /** All names in a single string, because a long string is searched much faster than many short strings. */
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
    const typos = this.typos(query);
    const rankedTypos = typos.map((index) => ({ index, kind: MATCH_KINDS.indexOf('typo') }));
    const ranked = [...found, ...rankedTypos].sort((a, b) => this.compare(a, b));
    return { ranked: ranked.map(({ index }) => index), typos };
  }

  private typos(query: string): number[] {
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

  /** The index of the person with the name at this position of `joined`. */
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

/** The share of the right entries that were answered, and the share at the right position (0 to 1). 1 if none is right. */
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
