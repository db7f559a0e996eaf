import { HoldfastError, StoreFailure } from '../errors';
import type { Profile } from './suggestion';

/** What went wrong with a dictionary or a list of recents, said to a person: what happened, to which, what to do. */

export function dictionaryNamed(name: string): string {
  return `dictionary ${JSON.stringify(name)}`;
}

export function recentsNamed(list: string): string {
  return `list of recents ${JSON.stringify(list)}`;
}

export function noSuchDictionary(name: string): HoldfastError {
  return new HoldfastError(
    'NO_SUCH_DICTIONARY',
    `${dictionaryNamed(name)} does not exist; create it, or import it`,
  );
}

export function dictionaryExists(name: string, { accents, typos }: Profile): HoldfastError {
  return new HoldfastError(
    'DICTIONARY_EXISTS',
    `${dictionaryNamed(name)} exists with another profile: accents ${accents}, typos ${typos ? 'on' : 'off'}; use it as it is, or delete it first`,
  );
}

export function importLost(name: string): HoldfastError {
  return new HoldfastError(
    'IMPORT_CONFLICT',
    `this import of ${dictionaryNamed(name)} is over: another one was committed or the dictionary deleted meanwhile, or the store has forgotten it; import again if yours is newer`,
  );
}

export function tooManyImports(name: string): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `${dictionaryNamed(name)} is being imported as often at a time as may be; wait for one of them to end`,
  );
}

export function wrongCount(name: string, said: number, received: number): HoldfastError {
  const description = `is ${said}, but ${received} entries were received`;
  return new HoldfastError(
    'INVALID_FIELD',
    `commit.entry_count ${description}: ${dictionaryNamed(name)} was not changed; import again`,
    { violations: [{ field: 'commit.entry_count', description }] },
  );
}

export function badPageToken(): HoldfastError {
  const description = 'is not one that this very request was answered with';
  return new HoldfastError('INVALID_FIELD', `page_token ${description}; begin without one`, {
    violations: [{ field: 'page_token', description }],
  });
}

/** A store failure, said as the caller may rely on it; anything else is passed on as the defect it is. */
export function autocompleteStoreFailed(error: unknown, what: string, repeat = 'repeat it'): unknown {
  if (!(error instanceof StoreFailure)) return error;
  if (error.kind === 'full') {
    const done = error.carriedOut === 'no' ? 'nothing was done' : 'not all was done';
    return new HoldfastError(
      'STORE_FULL',
      `the store is out of memory: ${done} for ${what}; ${repeat} when it has room`,
      { retryAfterMs: 5000 },
    );
  }
  if (error.carriedOut === 'unknown') {
    return new HoldfastError(
      'OUTCOME_UNKNOWN',
      `the store did not answer: what was asked for ${what} may have been done, or a part of it; ${repeat}`,
      { retryAfterMs: 200 },
    );
  }
  return new HoldfastError(
    'STORE_UNAVAILABLE',
    `the store does not take commands: nothing was done for ${what}; try again`,
    { retryAfterMs: 1000 },
  );
}
