import { typoMatch } from '../../src/autocomplete/text/match';
import { between, oneOf, type Random } from '../../test/support/random';

/**
 * Queries for existing texts. All texts are folded. Lengths are UTF-16 units, which are whole letters in the languages of
 * the words.
 */
export type Texts = readonly string[];

/** Texts typed letter by letter: the first letter, the first two letters, and so on, up to `longest` letters. */
export function typed(random: Random, texts: Texts, count: number, longest: number): string[] {
  const found = Array.from({ length: Math.ceil(count / longest) }, () => textOf(random, texts, longest));
  const queries = found.flatMap((text) => Array.from({ length: longest }, (_, i) => text.slice(0, i + 1)));
  return queries.slice(0, count);
}

/** The beginning of a word after the first word. Texts of one word: the beginning of the text. */
export function wordPrefix(random: Random, texts: Texts, length: number): string {
  for (;;) {
    const text = oneOf(random, texts);
    const word = text.slice(text.indexOf(' ') + 1);
    if (word.length >= length) return word.slice(0, length);
  }
}

/** A part of a text that does not start at the first letter. */
export function inside(random: Random, texts: Texts, length: number): string {
  const text = textOf(random, texts, length + 1);
  const from = between(random, 1, text.length - length);
  return text.slice(from, from + length);
}

export function suffix(random: Random, texts: Texts, length: number): string {
  return textOf(random, texts, length + 1).slice(-length);
}

/** The first `length` letters of a text with this many typos, none of them in the first letter. */
export function misspelt(random: Random, texts: Texts, length: number, typos: number): string {
  for (;;) {
    const text = textOf(random, texts, length + typos);
    let query = text;
    for (let count = 0; count < typos; count += 1) query = typo(random, query, texts, length);
    query = query.slice(0, length);
    // A random edit may change nothing, and two edits may cancel each other.
    if (typoMatch(query, text)?.distance === typos) return query;
  }
}

function textOf(random: Random, texts: Texts, shortest: number): string {
  for (;;) {
    const text = oneOf(random, texts);
    if (text.length >= shortest) return text;
  }
}

/** Makes a random edit after the first letter, within the first `length` letters. A new letter is one of another text. */
function typo(random: Random, text: string, texts: Texts, length: number): string {
  const at = between(random, 1, length - 1);
  const before = text.slice(0, at);
  const after = text.slice(at);
  const letter = oneOf(random, [...oneOf(random, texts)]);
  switch (between(random, 0, 3)) {
    case 0:
      return before + letter + after;
    case 1:
      return before + after.slice(1);
    case 2:
      return before + letter + after.slice(1);
    default:
      return before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2);
  }
}
