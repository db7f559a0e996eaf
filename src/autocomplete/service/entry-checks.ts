import type {
  ImportCommit,
  ImportDictionaryRequest,
  ImportStart,
  PutEntriesRequest,
  Entry as EntryMessage,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { packEntry } from '../stored-record';
import type { StoredEntry } from '../suggestion';
import type { FieldViolation } from '../../base/errors';
import { checkName, Violations } from '../../rpc/fields';
import { checkEntries } from './entry-fields';

/** The checks of requests with entries, on the main thread for small requests and in a thread for large requests. */

/** `entries` is empty if there are violations. */
export interface CheckedBatch {
  readonly violations: readonly FieldViolation[];
  readonly entries: readonly StoredEntry[];
}

/** `dictionary` is empty if there are violations. */
export interface CheckedPut extends CheckedBatch {
  readonly dictionary: string;
}

/** A message of an import. The entries of a batch are checked. The other parts are not. */
export type ImportPart =
  | { readonly $case: 'start'; readonly value: ImportStart }
  | { readonly $case: 'batch'; readonly value: CheckedBatch }
  | { readonly $case: 'commit'; readonly value: ImportCommit };

export function checkPut({ dictionary, entries }: PutEntriesRequest): CheckedPut {
  const violations = new Violations();
  checkName(violations, 'dictionary', dictionary);
  const batch = checkBatch(violations, 'entries', entries);
  return { dictionary: violations.any ? '' : dictionary, ...batch };
}

/** Undefined: the message has no part. */
export function checkImportPart({ part }: ImportDictionaryRequest): ImportPart | undefined {
  if (part?.$case !== 'batch') return part;
  return { $case: 'batch', value: checkBatch(new Violations(), 'batch.entries', part.value.entries) };
}

function checkBatch(violations: Violations, field: string, messages: readonly EntryMessage[]): CheckedBatch {
  const entries = checkEntries(violations, field, messages);
  return { violations: violations.all, entries: violations.any ? [] : entries.map(packEntry) };
}
