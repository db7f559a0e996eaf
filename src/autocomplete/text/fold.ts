import type { Profile } from '../suggestion';
import { COMMON_FOLDINGS, DROPPED_MARKS, FULL_FOLDINGS } from './unicode-tables';

const COMMON = /^(\w+)(?:-(\w+)(?:\/(\w))?)?([+-]\w+)$/;

/** Every code point that folding changes, and its folded form. */
const foldings: ReadonlyMap<string, string> = new Map([...commonFoldings(), ...fullFoldings()]);

/** Finds the next character that folding changes. */
const changing = new RegExp(`[${[...foldings.keys()].join('')}]`, 'gu');

/**
 * Full case folding of Unicode 17. JavaScript has no such function: toLowerCase keeps ß, depends on the neighbours of
 * Σ, and changes with the Unicode version of Node. Folded texts are stored, so all versions of Node must fold alike.
 */
export function foldCase(text: string): string {
  return text.replace(changing, (character) => foldings.get(character) ?? character);
}

function* commonFoldings(): Generator<[string, string]> {
  for (const run of COMMON_FOLDINGS.trim().split(/\s+/)) {
    const [, first = '', last = first, step = '1', distance = ''] = COMMON.exec(run) ?? [];
    for (let from = parseInt(first, 16); from <= parseInt(last, 16); from += Number(step)) {
      yield [String.fromCodePoint(from), String.fromCodePoint(from + parseInt(distance, 16))];
    }
  }
}

function* fullFoldings(): Generator<[string, string]> {
  for (const folding of FULL_FOLDINGS.trim().split(/\s+/)) {
    const [from = '', to = ''] = folding.split(':');
    const characters = to.split('.').map((codePoint) => parseInt(codePoint, 16));
    yield [String.fromCodePoint(parseInt(from, 16)), String.fromCodePoint(...characters)];
  }
}

/** A run of marks that are removed when accents are dropped. */
const marks = new RegExp(`[${DROPPED_MARKS.trim().split(/\s+/).map(characterRange).join('')}]+`, 'gu');

/**
 * Removes the accents and points of a decomposed text: the marks of Latin, Greek, Cyrillic, Hebrew, Arabic and Syriac,
 * and the marks of no single script. The marks of all other scripts stay, because they are parts of letters. Folded
 * texts are stored, so the marks come from a fixed table, and all versions of Node remove the same marks.
 */
export function withoutMarks(decomposed: string): string {
  return decomposed.replace(marks, '');
}

function characterRange(range: string): string {
  return range
    .split('-')
    .map((codePoint) => `\\u{${codePoint}}`)
    .join('-');
}

/**
 * The versions of the folding rules and of their tables. Each change of the rules needs a new version. A server folds all
 * texts when it loads them, so no dictionary must be imported again (docs/design/decisions/024). Version 2 removes more
 * marks than version 1: the points of Hebrew, Arabic and Syriac. Both versions are the same for dictionaries that keep
 * accents.
 */
export const FOLD_VERSIONS: Readonly<Record<Profile['accents'], number>> = { kept: 1, dropped: 2 };

const ASCII = /^[\0-\x7f]*$/;

/**
 * Returns the form in which texts and queries are compared. Texts that differ only in case, width or composition have
 * the same form; with accents dropped, also texts that differ only in accents or points. White space stays. Folding a
 * folded text changes nothing. A text of marks alone may fold to the empty text.
 *
 * Node normalises the text. Unicode never changes the normalisation of an assigned character, so all versions of Node
 * agree on the characters that they know.
 */
export function fold(text: string, accents: Profile['accents']): string {
  if (ASCII.test(text)) return text.toLowerCase();
  // The first normalisation replaces compatibility forms by plain letters. The second composes the folded letters.
  const folded = foldCase(text.normalize('NFKC')).normalize('NFKC');
  if (accents === 'kept') return folded;
  return withoutMarks(folded.normalize('NFD')).normalize('NFC');
}
