import { HoldfastError, type Reason, type StoreFailure } from '../base/errors';
import { outcomeUnknown, storeFull, translated } from '../base/store-state';
import type { EntryAmount, Writer } from './quota/amount';
import type { Missing } from './entry-store';
import { quotaExceeded } from '../base/accounts';
import type { Profile } from './suggestion';

/** Every error of autocomplete. Each text names the event, the affected name and the caller's next step. */

export function dictionaryText(name: string): string {
  return `dictionary ${JSON.stringify(name)}`;
}

export function recentsText(list: string): string {
  return `list of recents ${JSON.stringify(list)}`;
}

export function noSuchDictionary(name: string): HoldfastError {
  return new HoldfastError(
    'NO_SUCH_DICTIONARY',
    `${dictionaryText(name)} does not exist; create or import it`,
  );
}

export function dictionaryExists(name: string, { accents, typos }: Profile): HoldfastError {
  return new HoldfastError(
    'DICTIONARY_EXISTS',
    `${dictionaryText(name)} exists with another profile: accents ${accents}, typos ${typos ? 'on' : 'off'}; use that profile, or delete the dictionary first`,
  );
}

export function dictionaryTooNew(name: string, format: number): HoldfastError {
  return new HoldfastError(
    'NOT_IMPLEMENTED',
    `${dictionaryText(name)} was made by a newer version of this server, in format ${format}; use a newer server`,
  );
}

/** `progress`: of the load; undefined if it is not known. */
export function dictionaryLoading(
  name: string,
  progress?: { readonly text: string; readonly retryAfterMs: number },
): HoldfastError {
  return new HoldfastError(
    'DICTIONARY_LOADING',
    `this server is still loading ${dictionaryText(name)}${progress ? ` (${progress.text})` : ''}; try again, with a longer deadline if you want to wait for the load`,
    progress && { retryAfterMs: progress.retryAfterMs },
  );
}

/**
 * `neededBytes`: the memory of the index, with the additional memory of its build. `heldBytes`: the part of this memory
 * that an older index occupied, and that the next load can use.
 */
export function noMemoryForDictionary(
  name: string,
  { neededBytes, heldBytes }: { readonly neededBytes: number; readonly heldBytes: number },
  budgetBytes: number,
): HoldfastError {
  const mayFit = neededBytes - heldBytes <= budgetBytes;
  const advice = mayFit ? 'try again when other dictionaries need less, or raise' : 'raise';
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `${dictionaryText(name)} needs at least ${neededBytes} bytes of memory to be loaded, and this server may use ${budgetBytes} bytes for all dictionaries; ${advice} HOLDFAST_DICTIONARY_MEMORY`,
    { metadata: { limit: String(budgetBytes) }, ...(mayFit ? {} : { retryAfterMs: 'never' }) },
  );
}

export function searchesFull(): HoldfastError {
  return new HoldfastError(
    'OVERLOADED',
    'too many long searches wait on this server: nothing was done; try again later, or with longer queries',
  );
}

/** The caller's error for a dictionary that cannot be used. */
export function missingDictionary(name: string, missing: Missing): HoldfastError {
  switch (missing.kind) {
    case 'unknown':
      return noSuchDictionary(name);
    case 'too-new':
      return dictionaryTooNew(name, missing.format);
  }
}

export function isMissing(answer: object): answer is Missing {
  return 'kind' in answer && ['unknown', 'too-new'].includes(answer.kind as string);
}

/** Throws the caller's error if the dictionary cannot be used. */
export function found<T extends object>(dictionary: string, answer: T | Missing): Exclude<T, Missing> {
  if (isMissing(answer)) throw missingDictionary(dictionary, answer);
  return answer as Exclude<T, Missing>;
}

export function importLost(name: string): HoldfastError {
  return new HoldfastError(
    'IMPORT_CONFLICT',
    `this import of ${dictionaryText(name)} has ended: another import was committed, the dictionary was deleted, or the store has forgotten the import; import again if your entries are newer`,
  );
}

export function tooManyImports(name: string): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `${dictionaryText(name)} has reached its limit of simultaneous imports; wait until one of them has ended`,
  );
}

/**
 * `used`: the dictionaries of the caller. `foreign`: the dictionary, if another owner or nobody owns the dictionary.
 * The text does not say how much another owner has.
 */
export function entryQuotaExceeded(
  { identity, quotas }: Writer,
  quota: 'entries' | 'bytes',
  used: EntryAmount,
  added: EntryAmount,
  foreign: string | undefined,
): HoldfastError {
  const limit = quotas[quota] ?? 0;
  const others =
    foreign === undefined ? '' : `, the ${quota} of the owner of ${dictionaryText(foreign)} count too`;
  return quotaExceeded(
    quota,
    limit,
    `the dictionaries of ${JSON.stringify(identity)} have ${used[quota]} ${quota}${others}, and this call adds ${added[quota]}: the quota is ${limit} ${quota}, and nothing was changed; delete entries or dictionaries, or ask the operator for a larger quota`,
  );
}

export function wrongCount(name: string, stated: number, received: number): HoldfastError {
  const description = `is ${stated}, but ${received} entries were received`;
  return new HoldfastError(
    'INVALID_FIELD',
    `commit.entry_count ${description}: ${dictionaryText(name)} was not changed; import again`,
    { violations: [{ field: 'commit.entry_count', description }] },
  );
}

const REPEAT = 'repeat the call';
/** The reasons of errors with a text that says that nothing was done. */
const NOTHING_DONE: readonly Reason[] = ['STORE_UNAVAILABLE', 'OVERLOADED'];

/** The caller's error for a store failure. Any other error is a defect and is returned unchanged. */
export function translateStoreFailure(error: unknown, subject: string, advice = REPEAT): unknown {
  const whenFull = `${advice} when the store has room`;
  const unknown = ({ kind }: StoreFailure): HoldfastError => {
    // A command may take several steps, and an earlier step may have been carried out.
    if (kind === 'full') return storeFull(`not all was done for ${subject}`, whenFull);
    return outcomeUnknown(
      `the request for ${subject} may have been carried out, completely or in part`,
      advice,
    );
  };
  return translated(error, { subject, unknown, whenFull });
}

/**
 * Resolves to the state after a change. The change has been made, so a failure of this read must not say that nothing
 * was done.
 */
export async function stateAfterChange<T>(state: Promise<T>, subject: string, advice = REPEAT): Promise<T> {
  try {
    return await state;
  } catch (error) {
    if (!(error instanceof HoldfastError && NOTHING_DONE.includes(error.reason))) throw error;
    throw outcomeUnknown(`the change of ${subject} was made, but its result is unknown`, advice);
  }
}

/** As `answerOf`, for a read. A failed read has changed nothing, even if the store has run the command. */
export function readOf<T>(work: Promise<T>, subject: string): Promise<T> {
  return work.catch((error: unknown) => {
    throw translated(error, { subject, whenFull: `${REPEAT} when the store has room` });
  });
}

/** Resolves to the result of a store command. Rejects with the caller's error. */
export async function answerOf<T>(work: Promise<T>, subject: string, advice?: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw translateStoreFailure(error, subject, advice);
  }
}
