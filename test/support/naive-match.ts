import { MATCH_KINDS, type MatchKind } from '../../src/autocomplete/suggestion';

/** A simple implementation of the match kinds, for comparison. All texts are folded. */

const WORD = /^[\p{L}\p{N}]$/u;
const IN_WORD = /^[\p{L}\p{N}\p{M}]$/u;

/** The best of the given match kinds by which a text matches. */
export function naiveKind(
  texts: readonly string[],
  query: string,
  kinds: readonly MatchKind[],
  typos: boolean,
): MatchKind | undefined {
  const asked = kinds.length === 0 ? MATCH_KINDS : kinds;
  const unasked = (kind: MatchKind) => !asked.includes(kind);
  for (const kind of MATCH_KINDS) {
    if (kind === 'typo') {
      // A text that matches by another kind contains the query.
      if (!typos || unasked(kind) || texts.some((text) => text.includes(query))) continue;
      if (texts.some((text) => beginsNearly(text, query))) return kind;
    } else if (!unasked(kind) && texts.some((text) => matches(text, query, kind))) {
      return kind;
    }
  }
  return undefined;
}

function matches(text: string, query: string, kind: Exclude<MatchKind, 'typo'>): boolean {
  if (query === '') return kind !== 'exact';
  if (!text.includes(query)) return false;
  switch (kind) {
    case 'exact':
      return text === query;
    case 'prefix':
      return text.startsWith(query);
    case 'word-prefix': {
      const characters = [...text];
      return characters.some((character, i) => {
        const before = characters[i - 1];
        if (before === undefined || IN_WORD.test(before) || !WORD.test(character)) return false;
        return characters.slice(i).join('').startsWith(query);
      });
    }
    case 'suffix':
      return text.endsWith(query);
    case 'contains':
      return true;
  }
}

/** True if a beginning of the text is within the allowed edit distance of the query. */
function beginsNearly(text: string, query: string): boolean {
  const [typed, found] = [[...query], [...text]];
  const allowed = typed.length < 4 ? 0 : typed.length < 8 ? 1 : 2;
  if (allowed === 0 || typed[0] !== found[0]) return false;
  return distances(typed, found.slice(0, typed.length + allowed)).some((distance) => distance <= allowed);
}

/** The optimal string alignment distance of the query to each beginning of the text. */
function distances(typed: readonly string[], found: readonly string[]): readonly number[] {
  const rows: number[][] = [found.map((_, i) => i).concat(found.length)];
  for (let i = 1; i <= typed.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= found.length; j += 1) {
      const at = (up: number, left: number) => (up === 0 ? row : rows[i - up])?.[j - left] ?? Infinity;
      let least = Math.min(at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + (typed[i - 1] === found[j - 1] ? 0 : 1));
      const swapped = typed[i - 1] === found[j - 2] && typed[i - 2] === found[j - 1];
      if (i > 1 && j > 1 && swapped) least = Math.min(least, at(2, 2) + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows.at(-1) ?? [];
}
