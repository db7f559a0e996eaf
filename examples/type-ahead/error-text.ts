import { status, type ServiceError } from '@grpc/grpc-js';
import type { SuggestError } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { ErrorReason } from '../../generated/typescript/holdfast/v1/error_reason';
import { holdfastError } from '../../clients/typescript';
import type { Options } from './options';

function missingDictionaryText(dictionary: string): string {
  const option = dictionary === 'words' ? '' : ` --dictionary ${JSON.stringify(dictionary)}`;
  return `there is no dictionary ${JSON.stringify(dictionary)} yet: create it with npm run type-ahead -- --load${option}`;
}

export function noServerText(servers: readonly string[]): string {
  return `no Holdfast server answers at ${servers.join(', ')}: start one with npm start`;
}

/** A message for the user about an error and its remedy. */
export function errorText(error: unknown, { dictionary, servers }: Options): string {
  const { code, details } = error as Partial<ServiceError>;
  const reason = holdfastError(error)?.reason;
  if (reason === 'NO_SUCH_DICTIONARY') return missingDictionaryText(dictionary);
  if (reason === 'DICTIONARY_EXISTS') {
    return `the dictionary ${JSON.stringify(dictionary)} has another profile than this program uses: name another dictionary with --dictionary`;
  }
  if (reason !== undefined) return details ?? reason;
  if (code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED) return noServerText(servers);
  if (code === status.UNIMPLEMENTED) {
    return `the server at ${servers.join(', ')} has no AutocompleteService: use a newer Holdfast`;
  }
  return details ?? (error as Error).message;
}

/** The reason why the server refused a query. */
export function refusalText({ reason, message }: SuggestError, dictionary: string): string {
  return reason === ErrorReason.ERROR_REASON_NO_SUCH_DICTIONARY ? missingDictionaryText(dictionary) : message;
}
