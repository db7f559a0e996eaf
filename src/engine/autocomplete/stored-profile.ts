import { dictionaryOutdated, dictionaryTooNew } from './autocomplete-errors';
import type { StoredProfile } from './dictionary-store';
import { FOLD_VERSIONS } from './fold';
import type { Profile } from './suggestion';

/** The profile of a new dictionary: folded by the rules of this server. */
export function storedProfile({ accents, typos }: Profile): StoredProfile {
  return { accents, typos, foldVersion: FOLD_VERSIONS[accents] };
}

/** True: a caller cannot tell the two profiles apart. The versions of the folding rules may differ. */
export function isSameProfile(a: Profile, b: Profile): boolean {
  return a.accents === b.accents && a.typos === b.typos;
}

/** Throws for other folding rules, because this server cannot search texts that other rules folded. */
export function checkFoldVersion(dictionary: string, { accents, foldVersion }: StoredProfile): void {
  const known = FOLD_VERSIONS[accents];
  if (foldVersion < known) throw dictionaryOutdated(dictionary, foldVersion, known);
  if (foldVersion > known) throw dictionaryTooNew(dictionary, foldVersion, known);
}
