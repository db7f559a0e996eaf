import { AutocompleteServiceService as service } from '../../../generated/typescript/holdfast/v1/autocomplete_service';

const MIB = 1024 * 1024;

/**
 * The contract's bounds of the requests with many entries, in bytes per message, by path. 1000 entries of the largest
 * size would take 11 MB, so a caller divides large entries among several requests. 1000 ids of the largest size take
 * 516 kB.
 */
export const AUTOCOMPLETE_REQUEST_BYTES: ReadonlyMap<string, number> = new Map([
  [service.putEntries.path, 4 * MIB],
  [service.importDictionary.path, 4 * MIB],
  [service.deleteEntries.path, MIB],
]);
