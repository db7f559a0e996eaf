import { typoMatch } from '../../src/engine/autocomplete/typo';
import type { Person } from './people';
import { between, oneOf, type Random } from '../../test/support/random';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

/** As the names of some are typed letter by letter: the first letter, the first two, and so on to `longest`. */
export function typed(random: Random, people: readonly Person[], count: number, longest: number): string[] {
  const names = Array.from({ length: Math.ceil(count / longest) }, () => nameOf(random, people, longest));
  const queries = names.flatMap((name) => Array.from({ length: longest }, (_, i) => name.slice(0, i + 1)));
  return queries.slice(0, count);
}

/** So many letters from within the name of one, not from its beginning. */
export function inside(random: Random, people: readonly Person[], length: number): string {
  const name = nameOf(random, people, length + 1);
  const from = between(random, 1, name.length - length);
  return name.slice(from, from + length);
}

/** The first `length` letters of the name of one, typed with as many slips, none of them in the first letter. */
export function misspelt(random: Random, people: readonly Person[], length: number, slips: number): string {
  for (;;) {
    const name = nameOf(random, people, length + slips);
    let query = name;
    for (let count = 0; count < slips; count += 1) query = slip(random, query, length);
    query = query.slice(0, length);
    // Two slips may mend each other, and one may change nothing.
    if (typoMatch(query, name)?.distance === slips) return query;
  }
}

function nameOf(random: Random, people: readonly Person[], shortest: number): string {
  for (;;) {
    const { name } = oneOf(random, people);
    if (name.length >= shortest) return name;
  }
}

/** One edit among the first `length` letters but the first. */
function slip(random: Random, text: string, length: number): string {
  const at = between(random, 1, length - 1);
  const before = text.slice(0, at);
  const after = text.slice(at);
  switch (between(random, 0, 3)) {
    case 0:
      return before + oneOf(random, LETTERS) + after;
    case 1:
      return before + after.slice(1);
    case 2:
      return before + oneOf(random, LETTERS) + after.slice(1);
    default:
      return before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2);
  }
}
