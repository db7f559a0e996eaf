import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import {
  AccentHandling,
  TypoMatching,
  type Entry as EntryMessage,
  type MatchKind as MatchKindMessage,
  type Profile as ProfileMessage,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  DEFAULT_PROFILE,
  type Entry,
  MATCH_KINDS,
  type MatchKind,
  MAX_ALIASES,
  MAX_ENTRIES,
  MAX_ENTRY_ID_BYTES,
  MAX_FOLDED_BYTES,
  MAX_PAYLOAD_BYTES,
  MAX_STALENESS_MS,
  MAX_TEXT_BYTES,
  MAX_WEIGHT,
  type Profile,
} from '../suggestion';
import { fold } from '../text/fold';
import { timeSpan } from '../../base/text';
import { durationToMs } from '../../rpc/wire';
import { checkName, checkText, type Violations } from '../../rpc/fields';
import { kindOfMessage } from './entry-messages';

/** Checks of the fields that only autocomplete has. `rpc/fields.ts` has the shared checks. */

/** The check of a request's entries stops at this number of violations, because an answer has no room for more. */
const MAX_ENTRY_VIOLATIONS = 20;
/** No UTF-16 unit folds to more bytes of UTF-8 than U+FDFA. */
const MAX_FOLDED_BYTES_PER_UNIT = 33;
const MAX_WEIGHT_INT64 = BigInt(MAX_WEIGHT);
const MAX_COUNT_INT64 = BigInt(Number.MAX_SAFE_INTEGER);

/** Checks a text that is shown to users. */
export function checkEntryText(violations: Violations, field: string, text: string): void {
  if (text === '') violations.add(field, 'is required');
  else checkText(violations, field, text, MAX_TEXT_BYTES);
}

/** Also bounds the folded text, because the index keeps this text. A few characters fold to up to 18 characters. */
function checkIndexedText(violations: Violations, field: string, text: string): void {
  checkEntryText(violations, field, text);
  if (text.length * MAX_FOLDED_BYTES_PER_UNIT <= MAX_FOLDED_BYTES || text.length > MAX_TEXT_BYTES) return;
  const bytes = Buffer.byteLength(fold(text, 'kept'));
  if (bytes > MAX_FOLDED_BYTES) {
    violations.add(field, `is ${bytes} bytes after folding; at most ${MAX_FOLDED_BYTES} are accepted`);
  }
}

/** Checks a query or a bound of a listing. Both may be empty. */
export function checkQuery(violations: Violations, field: string, query: string): void {
  if (query !== '') checkText(violations, field, query, MAX_TEXT_BYTES);
}

export function checkOptionalId(violations: Violations, field: string, entryId: string): void {
  if (entryId !== '') checkText(violations, field, entryId, MAX_ENTRY_ID_BYTES);
}

export function checkPayload(violations: Violations, field: string, payload: Uint8Array): void {
  if (payload.length <= MAX_PAYLOAD_BYTES) return;
  violations.add(field, `is ${payload.length} bytes; at most ${MAX_PAYLOAD_BYTES} are accepted`);
}

/** Checks an optional int32 from 1 to `max`. */
export function checkPositiveCount(
  violations: Violations,
  field: string,
  count: number | undefined,
  { defaultValue, max }: { readonly defaultValue: number; readonly max: number },
): number {
  if (count === undefined) return defaultValue;
  if (count < 1 || count > max) violations.add(field, `is ${count} and must be from 1 to ${max}`);
  return count;
}

/** Returns the longest age of an answer (ms). Rounds down to whole milliseconds. */
export function checkMaxStaleness(
  violations: Violations,
  field: string,
  staleness: Duration | undefined,
): number {
  if (staleness === undefined) return 0;
  const ms = durationToMs(staleness);
  if (ms === undefined) violations.add(field, 'is not a valid Duration');
  else if (ms >= 0 && ms <= MAX_STALENESS_MS) return Math.floor(ms);
  else violations.add(field, `is ${timeSpan(ms)} and must be from 0 ms to ${timeSpan(MAX_STALENESS_MS)}`);
  return 0;
}

/** Returns each requested kind once, in rank order. An empty list means all kinds. */
export function checkMatchKinds(
  violations: Violations,
  field: string,
  messages: readonly MatchKindMessage[],
): readonly MatchKind[] {
  if (messages.length === 0) return [];
  const requested = new Set<MatchKind | undefined>();
  for (const [index, message] of messages.entries()) {
    const kind = kindOfMessage(message);
    if (kind === undefined && !requested.has(kind)) {
      violations.add(`${field}[${index}]`, `${message} is not a MatchKind that can be requested`);
    }
    requested.add(kind);
  }
  return MATCH_KINDS.filter((kind) => requested.has(kind));
}

/** Returns the profile with its defaults filled in. */
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
      violations.add(field, `${accents} is not an AccentHandling`);
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
      violations.add(field, `${typos} is not a TypoMatching`);
      return DEFAULT_PROFILE.typos;
  }
}

export function checkEntries(
  violations: Violations,
  field: string,
  entries: readonly EntryMessage[],
): readonly Entry[] {
  if (!checkListLength(violations, field, entries.length)) return [];
  const checked: Entry[] = [];
  for (const [index, entry] of entries.entries()) {
    checked.push(checkEntry(violations, `${field}[${index}]`, entry));
    if (violations.count >= MAX_ENTRY_VIOLATIONS) break;
  }
  return checked;
}

function checkEntry(violations: Violations, field: string, entry: EntryMessage): Entry {
  const { entryId, text, aliases, weight, payload } = entry;
  checkName(violations, `${field}.entry_id`, entryId);
  checkIndexedText(violations, `${field}.text`, text);
  if (aliases.length > MAX_ALIASES) {
    violations.add(
      `${field}.aliases`,
      `has more than ${MAX_ALIASES} items; at most ${MAX_ALIASES} are accepted`,
    );
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
  if (!checkListLength(violations, field, entryIds.length)) return;
  for (const [index, entryId] of entryIds.entries()) {
    checkName(violations, `${field}[${index}]`, entryId);
    if (violations.count >= MAX_ENTRY_VIOLATIONS) return;
  }
}

/** The decoder does not read lists beyond their bounds, so the length of a longer list is unknown. */
function checkListLength(violations: Violations, field: string, length: number): boolean {
  if (length >= 1 && length <= MAX_ENTRIES) return true;
  const count = length === 0 ? 'no' : `more than ${MAX_ENTRIES}`;
  violations.add(field, `has ${count} items and must have from 1 to ${MAX_ENTRIES}`);
  return false;
}

/** Checks the number of sent entries that the client reports. */
export function checkSentCount(violations: Violations, field: string, count: bigint): number {
  if (count < 0n || count > MAX_COUNT_INT64)
    violations.add(field, `is ${count} and must be from 0 to 2^53 - 1`);
  return Number(count);
}
