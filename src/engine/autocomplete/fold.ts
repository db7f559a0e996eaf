import { foldCase } from './case-folding';
import type { Profile } from './suggestion';

/**
 * The version of the folding rules and of the case-folding table. Stored texts are folded, so each change of the rules
 * needs a new version. A dictionary of an older version must be imported again.
 */
export const FOLD_VERSION = 1;

const ASCII = /^[\0-\x7f]*$/;
/** The blocks of combining diacritical marks. Marks that belong to one script are parts of its letters and stay. */
const DIACRITICS = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+/g;

/**
 * Returns the form in which texts and queries are compared. Texts that differ only in case, width or composition have
 * the same form; with accents dropped, also texts that differ only in diacritics. White space stays. Folding a folded
 * text changes nothing. A text of diacritics alone may fold to the empty text.
 *
 * Node normalises the text. Unicode never changes the normalisation of an assigned character, so all versions of Node
 * agree on the characters that they know.
 */
export function fold(text: string, accents: Profile['accents']): string {
  if (ASCII.test(text)) return text.toLowerCase();
  // The first normalisation replaces compatibility forms by plain letters. The second composes the folded letters.
  const folded = foldCase(text.normalize('NFKC')).normalize('NFKC');
  if (accents === 'kept') return folded;
  return folded.normalize('NFD').replace(DIACRITICS, '').normalize('NFC');
}
