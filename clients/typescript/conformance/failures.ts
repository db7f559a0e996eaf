import {
  ClosedError,
  ContendedError,
  CredentialError,
  DictionaryExistsError,
  HoldfastError,
  ImportConflictError,
  InvalidRequestError,
  LeaseLostError,
  LimitMismatchError,
  LimitReachedError,
  NeverFitsError,
  NoSuchDictionaryError,
  NoSuchSemaphoreError,
  NotAllowedError,
  UnavailableError,
} from '..';

/** The reason of an abort by the command `cancel`. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';
}

const CLASSES = [
  [ContendedError, 'contended'],
  [LeaseLostError, 'lease_lost'],
  [InvalidRequestError, 'invalid_request'],
  [CredentialError, 'credential'],
  [NotAllowedError, 'not_allowed'],
  [LimitReachedError, 'limit_reached'],
  [NoSuchSemaphoreError, 'no_such_semaphore'],
  [LimitMismatchError, 'limit_mismatch'],
  [NeverFitsError, 'never_fits'],
  [NoSuchDictionaryError, 'no_such_dictionary'],
  [DictionaryExistsError, 'dictionary_exists'],
  [ImportConflictError, 'import_conflict'],
  [UnavailableError, 'unavailable'],
  [ClosedError, 'closed'],
] as const;

/** The `error` of a result. */
export function failureOf(error: unknown): object {
  if (!(error instanceof HoldfastError)) {
    const { message } = error as Error;
    return { class: 'other', reason: '', code: 2, inner: message, text: message };
  }
  const { reason, code, message: text } = error;
  const name = CLASSES.find(([Class]) => error instanceof Class)?.[1] ?? 'other';
  if (error instanceof LimitMismatchError) {
    return { class: name, reason, code, text, limit: error.limit, expected_limit: error.expectedLimit };
  }
  if (!(error instanceof LeaseLostError)) return { class: name, reason, code, text };
  const inner = error.cause instanceof Error ? error.cause.message : '';
  return { class: name, reason, code, cause: error.lossCause, inner, text };
}
