import type { BothFolded, FoldedEntry, StoredProfile } from './dictionary-store';
import { fold } from './fold';
import { packForms } from './match';
import type { Entry } from './suggestion';

export function bothFolded(text: string): BothFolded {
  return { kept: fold(text, 'kept'), dropped: fold(text, 'dropped') };
}

/** The packed form of a text that folds to the empty text. Its entry still matches the empty query. */
const EMPTY_FORM = '\u0002\u0003';

/** Folds the text and the aliases of an entry for a dictionary with this profile. */
export function foldEntry(entry: Entry, { accents }: StoredProfile): FoldedEntry {
  const [own = '', ...others] = [entry.text, ...entry.aliases].map((text) => fold(text, accents));
  return { ...entry, folded: own === '' ? EMPTY_FORM + packForms(others) : packForms([own, ...others]) };
}
