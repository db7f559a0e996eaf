import { status, type ServiceError } from '@grpc/grpc-js';
import type { SuggestError } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { ErrorReason } from '../../generated/typescript/holdfast/v1/error_reason';
import { holdfastError } from '../../clients/typescript';
import type { Options } from './options';

/** How the dictionary comes into being. */
export function loadHint(dictionary: string): string {
  const option = dictionary === 'words' ? '' : ` --dictionary ${JSON.stringify(dictionary)}`;
  return `there is no dictionary ${JSON.stringify(dictionary)} yet: make it with npm run type-ahead -- --load${option}`;
}

export function noServerText(servers: readonly string[]): string {
  return `no Holdfast server answers at ${servers.join(', ')}: start one with npm start`;
}

/** What went wrong, and what to do about it, for a person. */
export function troubleText(error: unknown, { dictionary, servers }: Options): string {
  const { code, details } = error as Partial<ServiceError>;
  const reason = holdfastError(error)?.reason;
  if (reason === 'NO_SUCH_DICTIONARY') return loadHint(dictionary);
  if (reason === 'DICTIONARY_EXISTS') {
    return `the dictionary ${JSON.stringify(dictionary)} compares words in another way than this program wants: name another one with --dictionary`;
  }
  if (reason !== undefined) return details ?? reason;
  if (code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED) return noServerText(servers);
  if (code === status.UNIMPLEMENTED) {
    return `the server at ${servers.join(', ')} has no AutocompleteService: a newer Holdfast is wanted`;
  }
  return details ?? (error as Error).message;
}

/** Why one query was not looked up. */
export function refusalText({ reason, message }: SuggestError, dictionary: string): string {
  return reason === ErrorReason.ERROR_REASON_NO_SUCH_DICTIONARY ? loadHint(dictionary) : message;
}
