import {
  DeleteEntriesRequest,
  ImportDictionaryRequest,
  PutEntriesRequest,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { MAX_ALIASES, MAX_ENTRIES } from '../limits';
import { boundedDecoder, smallMessageDecoder, type ListBounds } from '../../rpc/bounded-decoding';

/** The lists of the requests with many entries, by field number. `request-sizes.ts` has the bounds in bytes. */

const entry: ListBounds = new Map([[3, { maxItems: MAX_ALIASES }]]);
const putEntries: ListBounds = new Map([[2, { maxItems: MAX_ENTRIES, inside: entry }]]);
const deleteEntries: ListBounds = new Map([[2, { maxItems: MAX_ENTRIES }]]);
const importBatch: ListBounds = new Map([[1, { maxItems: MAX_ENTRIES, inside: entry }]]);
const importDictionary: ListBounds = new Map([[2, { inside: importBatch }]]);

/** Decode messages of any size. */
export const requestDecoders = {
  putEntries: boundedDecoder(PutEntriesRequest, putEntries),
  deleteEntries: boundedDecoder(DeleteEntriesRequest, deleteEntries),
  importDictionary: boundedDecoder(ImportDictionaryRequest, importDictionary),
};

/** Leave large messages to the thread of EntryRequests. */
export const smallRequestDecoders = {
  putEntries: smallMessageDecoder(PutEntriesRequest, putEntries),
  importDictionary: smallMessageDecoder(ImportDictionaryRequest, importDictionary),
};
