import type {
  CreateDictionaryRequest,
  CreateDictionaryResponse,
  DeleteDictionaryRequest,
  DeleteDictionaryResponse,
  DeleteEntriesRequest,
  DeleteEntriesResponse,
  GetDictionaryRequest,
  GetDictionaryResponse,
  ListDictionariesRequest,
  ListDictionariesResponse,
  ListEntriesRequest,
  ListEntriesResponse,
  PutEntriesRequest,
  PutEntriesResponse,
  RecordSelectionRequest,
  RecordSelectionResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { answerWithinMs } from '../../base/call';
import { MAX_SELECTIONS } from '../suggestion';
import { LIST_PAGES, MAX_NAME_BYTES } from '../../base/names';
import type { AutocompleteEngine } from '../autocomplete';
import { unary, type CallContext } from '../../rpc/handlers';
import type { UndecodedMessage } from '../../rpc/decoding';
import {
  checkName,
  checkPageSize,
  checkText,
  requireName,
  throwIfInvalid,
  Violations,
} from '../../rpc/fields';
import type { EntryRequests } from './large-requests';
import { checkEntryIds, checkPositiveCount, checkProfile, checkQuery } from './entry-fields';
import { dictionaryMessage, listedEntryMessage } from './entry-messages';

/** The unary handlers of AutocompleteService for whole dictionaries. */
export function dictionaryHandlers(context: CallContext, engine: AutocompleteEngine) {
  return {
    createDictionary: unary<CreateDictionaryRequest, CreateDictionaryResponse>(
      context,
      async ({ dictionary, profile: requested }, call) => {
        const violations = new Violations();
        checkName(violations, 'dictionary', dictionary);
        const profile = checkProfile(violations, 'profile', requested);
        violations.throwIfAny();
        const view = await engine.createDictionary(dictionary, profile, call);
        return { dictionary: dictionaryMessage(view) };
      },
    ),

    getDictionary: unary<GetDictionaryRequest, GetDictionaryResponse>(context, async ({ dictionary }) => {
      requireName('dictionary', dictionary);
      return { dictionary: dictionaryMessage(await engine.getDictionary(dictionary)) };
    }),

    listDictionaries: unary<ListDictionariesRequest, ListDictionariesResponse>(
      context,
      async ({ namePrefix, pageSize: requested, pageToken }, call) => {
        const violations = new Violations();
        if (namePrefix !== '') checkText(violations, 'name_prefix', namePrefix, MAX_NAME_BYTES);
        const pageSize = checkPageSize(violations, 'page_size', requested, LIST_PAGES);
        violations.throwIfAny();
        const page = await engine.listDictionaries(namePrefix, pageSize, pageToken, call);
        return { dictionaries: page.dictionaries.map(dictionaryMessage), nextPageToken: page.nextPageToken };
      },
    ),

    deleteDictionary: unary<DeleteDictionaryRequest, DeleteDictionaryResponse>(
      context,
      async ({ dictionary }) => {
        requireName('dictionary', dictionary);
        return { deleted: await engine.deleteDictionary(dictionary) };
      },
    ),
  };
}

/** The unary handlers of AutocompleteService for the entries of a dictionary. */
export function entryHandlers(context: CallContext, engine: AutocompleteEngine, requests: EntryRequests) {
  return {
    putEntries: unary<PutEntriesRequest | UndecodedMessage, PutEntriesResponse>(
      context,
      async (request, call) => {
        const { dictionary, violations, entries } = await requests.putEntries(request);
        throwIfInvalid(violations);
        // The wrapper has read the dictionary of a large request, but has not decoded the request.
        call.checkNames({ dictionary });
        await engine.putEntries(dictionary, entries, call);
        return {};
      },
    ),

    deleteEntries: unary<DeleteEntriesRequest, DeleteEntriesResponse>(
      context,
      async ({ dictionary, entryIds }) => {
        const violations = new Violations();
        checkName(violations, 'dictionary', dictionary);
        checkEntryIds(violations, 'entry_ids', entryIds);
        violations.throwIfAny();
        return { deletedCount: await engine.deleteEntries(dictionary, entryIds) };
      },
    ),

    recordSelection: unary<RecordSelectionRequest, RecordSelectionResponse>(
      context,
      async ({ dictionary, entryId, count: requested }) => {
        const violations = new Violations();
        checkName(violations, 'dictionary', dictionary);
        checkName(violations, 'entry_id', entryId);
        const bounds = { defaultValue: 1, max: MAX_SELECTIONS };
        const count = checkPositiveCount(violations, 'count', requested, bounds);
        violations.throwIfAny();
        const selectionCount = await engine.recordSelection(dictionary, entryId, count);
        return { recorded: selectionCount !== undefined, selectionCount: BigInt(selectionCount ?? 0) };
      },
    ),

    listEntries: unary<ListEntriesRequest, ListEntriesResponse>(
      context,
      async ({ dictionary, startText: from, endText: to, pageSize: requested, pageToken }, call) => {
        const violations = new Violations();
        checkName(violations, 'dictionary', dictionary);
        checkQuery(violations, 'start_text', from);
        checkQuery(violations, 'end_text', to);
        const pageSize = checkPageSize(violations, 'page_size', requested, LIST_PAGES);
        violations.throwIfAny();
        const patienceMs = answerWithinMs(call.timeoutMs);
        const asked = { maxStalenessMs: 0, patienceMs, caller: call.connection };
        const page = await engine.listEntries({ dictionary, from, to, pageSize, pageToken, asked });
        return { entries: page.entries.map(listedEntryMessage), nextPageToken: page.nextPageToken };
      },
    ),
  };
}
