import { foldCase } from './case-folding';
import type { Profile } from './suggestion';

/**
 * Of the rules below. What is stored was folded by them, so a change of a rule, or of the table of case folding, is
 * a new version, and dictionaries of an older one must be imported again to be searched by it.
 */
export const FOLD_VERSION = 1;

const ASCII = /^[\0-\x7f]*$/;
/** The blocks of combining diacritical marks; marks of single scripts are letters' parts and stay. */
const DIACRITICS = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+/g;

/**
 * The form in which texts and queries are compared: two that differ only in case, in width or in the way a character
 * is composed have the same one, and with accents dropped also two that differ only in diacritics. White space stays
 * as it is. Folding again changes nothing. A text of nothing but diacritics may fold to an empty one.
 *
 * Normalisation is the engine's own (Unicode promises never to change it for an assigned character); a character that
 * Unicode assigned only after this Node was made is left as it is.
 */
export function fold(text: string, accents: Profile['accents']): string {
  if (ASCII.test(text)) return text.toLowerCase();
  // Width and ligatures first, so that the table sees plain letters; what it writes may compose again.
  const folded = foldCase(text.normalize('NFKC')).normalize('NFKC');
  if (accents === 'kept') return folded;
  return folded.normalize('NFD').replace(DIACRITICS, '').normalize('NFC');
}
