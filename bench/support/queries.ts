import { typoMatch } from '../../src/engine/autocomplete/typo';
import type { Person } from './people';
import { between, oneOf, type Random } from '../../test/support/random';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

/** Names typed letter by letter: the first letter, the first two letters, and so on, up to `longest` letters. */
export function typed(random: Random, people: readonly Person[], count: number, longest: number): string[] {
  const names = Array.from({ length: Math.ceil(count / longest) }, () => nameOf(random, people, longest));
  const queries = names.flatMap((name) => Array.from({ length: longest }, (_, i) => name.slice(0, i + 1)));
  return queries.slice(0, count);
}

/** A substring of a name that does not start at the name's first letter. */
export function inside(random: Random, people: readonly Person[], length: number): string {
  const name = nameOf(random, people, length + 1);
  const from = between(random, 1, name.length - length);
  return name.slice(from, from + length);
}

/** The first `length` letters of a name with this many typos, none of them in the first letter. */
export function misspelt(random: Random, people: readonly Person[], length: number, typos: number): string {
  for (;;) {
    const name = nameOf(random, people, length + typos);
    let query = name;
    for (let count = 0; count < typos; count += 1) query = typo(random, query, length);
    query = query.slice(0, length);
    // A random edit may change nothing, and two edits may cancel each other.
    if (typoMatch(query, name)?.distance === typos) return query;
  }
}

function nameOf(random: Random, people: readonly Person[], shortest: number): string {
  for (;;) {
    const { name } = oneOf(random, people);
    if (name.length >= shortest) return name;
  }
}

/** Makes a random edit after the first letter, within the first `length` letters. */
function typo(random: Random, text: string, length: number): string {
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
