import {
  AccentHandling,
  TypoMatching,
  type Entry as EntryMessage,
  type MatchKind as MatchKindMessage,
  type Profile as ProfileMessage,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  DEFAULT_PROFILE,
  MAX_ALIASES,
  MAX_ENTRIES,
  MAX_ENTRY_ID_BYTES,
  MAX_PAYLOAD_BYTES,
  MAX_FOLDED_BYTES,
  MAX_TEXT_BYTES,
  MAX_WEIGHT,
  type PageSizes,
} from '../../engine/autocomplete/limits';
import { fold } from '../../engine/autocomplete/fold';
import { MATCH_KINDS, type Entry, type MatchKind, type Profile } from '../../engine/autocomplete/suggestion';
import { kindOfMessage } from './messages';
import { checkName, checkText, type Violations } from '../grpc/fields';

/** Checks of the fields that only autocomplete has, each as those of fields.ts. */

/** Further bad entries of a request are not looked for: an answer has no room to name them. */
const ENOUGH_VIOLATIONS = 20;
/** Of U+FDFA, a whole sentence: no UTF-16 unit folds to more. */
const MOST_FOLDED_BYTES_PER_UNIT = 33;
const MAX_WEIGHT_INT64 = BigInt(MAX_WEIGHT);
const MAX_COUNT_INT64 = BigInt(Number.MAX_SAFE_INTEGER);

/** What is found and shown: never empty. */
export function checkShownText(violations: Violations, field: string, text: string): void {
  if (text === '') violations.add(field, 'is required');
  else checkText(violations, field, text, MAX_TEXT_BYTES);
}

/** Also as it is compared: a few characters fold to many, eighteen at most. */
function checkIndexedText(violations: Violations, field: string, text: string): void {
  checkShownText(violations, field, text);
  if (text.length * MOST_FOLDED_BYTES_PER_UNIT <= MAX_FOLDED_BYTES || text.length > MAX_TEXT_BYTES) return;
  const bytes = Buffer.byteLength(fold(text, 'kept'));
  if (bytes > MAX_FOLDED_BYTES) {
    violations.add(field, `is ${bytes} bytes as it is compared, ${MAX_FOLDED_BYTES} at most are accepted`);
  }
}

/** Or a bound of a list; empty says something of its own. */
export function checkQuery(violations: Violations, field: string, query: string): void {
  if (query !== '') checkText(violations, field, query, MAX_TEXT_BYTES);
}

/** Where there may be none. */
export function checkOptionalId(violations: Violations, field: string, entryId: string): void {
  if (entryId !== '') checkText(violations, field, entryId, MAX_ENTRY_ID_BYTES);
}

export function checkPayload(violations: Violations, field: string, payload: Uint8Array): void {
  if (payload.length <= MAX_PAYLOAD_BYTES) return;
  violations.add(field, `is ${payload.length} bytes, ${MAX_PAYLOAD_BYTES} at most are accepted`);
}

/** An int32 from 1 on; unset says something of its own. */
export function checkAmount(
  violations: Violations,
  field: string,
  amount: number | undefined,
  usual: number,
  most: number,
): number {
  if (amount === undefined) return usual;
  if (amount < 1 || amount > most) violations.add(field, `is ${amount} and must be from 1 to ${most}`);
  return amount;
}

/** How many the page is to have. */
export function checkPageSize(
  violations: Violations,
  field: string,
  size: number,
  { defaultSize, maxSize }: PageSizes,
): number {
  if (size < 0) violations.add(field, `is ${size} and must not be negative`);
  return size === 0 ? defaultSize : Math.min(size, maxSize);
}

/** Each once, in the order of their ranks. */
export function checkKinds(
  violations: Violations,
  field: string,
  messages: readonly MatchKindMessage[],
): readonly MatchKind[] {
  if (messages.length === 0) return [];
  const asked = new Set<MatchKind | undefined>();
  for (const [index, message] of messages.entries()) {
    const kind = kindOfMessage(message);
    if (kind === undefined && !asked.has(kind)) {
      violations.add(`${field}[${index}]`, `${message} is no MatchKind that can be asked for`);
    }
    asked.add(kind);
  }
  return MATCH_KINDS.filter((kind) => asked.has(kind));
}

/** Spelled out; an unset one is all defaults. */
export function checkProfile(
  violations: Violations,
  field: string,
  profile: ProfileMessage | undefined,
): Profile {
  if (profile === undefined) return DEFAULT_PROFILE;
  return {
    accents: checkAccents(violations, `${field}.accents`, profile.accents),
    typos: checkTypos(violations, `${field}.typo_matching`, profile.typoMatching),
  };
}

function checkAccents(violations: Violations, field: string, accents: AccentHandling): Profile['accents'] {
  switch (accents) {
    case AccentHandling.ACCENT_HANDLING_UNSPECIFIED:
      return DEFAULT_PROFILE.accents;
    case AccentHandling.ACCENT_HANDLING_KEPT:
      return 'kept';
    case AccentHandling.ACCENT_HANDLING_DROPPED:
      return 'dropped';
    default:
      violations.add(field, `${accents} is no AccentHandling`);
      return DEFAULT_PROFILE.accents;
  }
}

function checkTypos(violations: Violations, field: string, typos: TypoMatching): boolean {
  switch (typos) {
    case TypoMatching.TYPO_MATCHING_UNSPECIFIED:
      return DEFAULT_PROFILE.typos;
    case TypoMatching.TYPO_MATCHING_ON:
      return true;
    case TypoMatching.TYPO_MATCHING_OFF:
      return false;
    default:
      violations.add(field, `${typos} is no TypoMatching`);
      return DEFAULT_PROFILE.typos;
  }
}

export function checkEntries(
  violations: Violations,
  field: string,
  entries: readonly EntryMessage[],
): readonly Entry[] {
  if (!checkHowMany(violations, field, entries.length)) return [];
  const checked: Entry[] = [];
  for (const [index, entry] of entries.entries()) {
    checked.push(checkEntry(violations, `${field}[${index}]`, entry));
    if (violations.count >= ENOUGH_VIOLATIONS) break;
  }
  return checked;
}

function checkEntry(violations: Violations, field: string, entry: EntryMessage): Entry {
  const { entryId, text, aliases, weight, payload } = entry;
  checkName(violations, `${field}.entry_id`, entryId);
  checkIndexedText(violations, `${field}.text`, text);
  if (aliases.length > MAX_ALIASES) {
    violations.add(`${field}.aliases`, `has ${aliases.length}, ${MAX_ALIASES} at most are accepted`);
  } else {
    for (const [index, alias] of aliases.entries()) {
      checkIndexedText(violations, `${field}.aliases[${index}]`, alias);
    }
  }
  if (weight < 0n || weight > MAX_WEIGHT_INT64) {
    violations.add(`${field}.weight`, `is ${weight} and must be from 0 to 2^52`);
  }
  checkPayload(violations, `${field}.payload`, payload);
  return { entryId, text, aliases, weight: Number(weight), payload };
}

export function checkEntryIds(violations: Violations, field: string, entryIds: readonly string[]): void {
  if (!checkHowMany(violations, field, entryIds.length)) return;
  for (const [index, entryId] of entryIds.entries()) {
    checkName(violations, `${field}[${index}]`, entryId);
    if (violations.count >= ENOUGH_VIOLATIONS) return;
  }
}

function checkHowMany(violations: Violations, field: string, length: number): boolean {
  if (length >= 1 && length <= MAX_ENTRIES) return true;
  violations.add(field, `has ${length} and must have from 1 to ${MAX_ENTRIES}`);
  return false;
}

/** An int64 of things that were sent: what is no safe number cannot be right. */
export function checkSentCount(violations: Violations, field: string, count: bigint): number {
  if (count < 0n || count > MAX_COUNT_INT64)
    violations.add(field, `is ${count}: so many cannot have been sent`);
  return Number(count);
}
