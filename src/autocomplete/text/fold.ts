import { foldCase } from './case-folding';
import { withoutMarks } from './dropped-marks';
import type { Profile } from '../suggestion';

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
