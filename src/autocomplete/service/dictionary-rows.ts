import type {
  AutocompleteServiceService,
  DeleteEntriesRequest,
  PutEntriesRequest,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import type { CheckNames } from '../../access/authorization';
import { answerWithinMs } from '../../base/call';
import { MAX_SELECTIONS } from '../suggestion';
import { LIST_PAGES, MAX_NAME_BYTES } from '../../base/names';
import type { AutocompleteEngine } from '../autocomplete';
import { UndecodedMessage } from '../../rpc/decoding';
import type { Rows } from '../../rpc/service';
import {
  checkName,
  checkPageSize,
  checkText,
  requireName,
  throwIfInvalid,
  Violations,
} from '../../rpc/fields';
import { dictionaryIn, type EntryRequests, requestDecoders, smallRequestDecoders } from './large-requests';
import { checkEntryIds, checkPositiveCount, checkProfile, checkQuery } from './entry-fields';
import { dictionaryMessage, listedEntryMessage } from './entry-messages';

type AllRows = Rows<typeof AutocompleteServiceService>;

const MIB = 1024 * 1024;
/**
 * The contract's bound of a request with entries. 1000 entries of the largest size would take 11 MB, so a caller divides
 * large entries among several requests.
 */
export const MOST_ENTRIES_BYTES = 4 * MIB;
/** 1000 ids of the largest size take 516 kB. */
const MOST_IDS_BYTES = MIB;

const byDictionary: CheckNames<{ readonly dictionary: string }> = ({ dictionary }, caller) =>
  caller.require(dictionary);

/** The rows of AutocompleteService for whole dictionaries. */
export function dictionaryRows(
  engine: AutocompleteEngine,
): Pick<AllRows, 'createDictionary' | 'getDictionary' | 'listDictionaries' | 'deleteDictionary'> {
  return {
    createDictionary: {
      names: byDictionary,
      load: 'low',
      audit: ({ dictionary }) => ({ action: 'create dictionary', name: dictionary }),
      handle: async ({ dictionary, profile: requested }, call) => {
        const violations = new Violations();
        checkName(violations, 'dictionary', dictionary);
        const profile = checkProfile(violations, 'profile', requested);
        violations.throwIfAny();
        const view = await engine.createDictionary(dictionary, profile, call);
        return { dictionary: dictionaryMessage(view) };
      },
    },

    getDictionary: {
      names: byDictionary,
      load: 'low',
      handle: async ({ dictionary }) => {
        requireName('dictionary', dictionary);
        return { dictionary: dictionaryMessage(await engine.getDictionary(dictionary)) };
      },
    },

    listDictionaries: {
      /** The handler leaves out the dictionaries that the caller may not read. */
      names: () => undefined,
      load: 'low',
      handle: async ({ namePrefix, pageSize: requested, pageToken }, call) => {
        const violations = new Violations();
        if (namePrefix !== '') checkText(violations, 'name_prefix', namePrefix, MAX_NAME_BYTES);
        const pageSize = checkPageSize(violations, 'page_size', requested, LIST_PAGES);
        violations.throwIfAny();
        const page = await engine.listDictionaries(namePrefix, pageSize, pageToken, call);
        return { dictionaries: page.dictionaries.map(dictionaryMessage), nextPageToken: page.nextPageToken };
      },
    },

    deleteDictionary: {
      names: byDictionary,
      load: 'low',
      audit: ({ dictionary }) => ({ action: 'delete dictionary', name: dictionary }),
      handle: async ({ dictionary }) => {
        requireName('dictionary', dictionary);
        return { deleted: await engine.deleteDictionary(dictionary) };
      },
    },
  };
}

/** The rows of AutocompleteService for the entries of a dictionary. */
export function entryRows(
  engine: AutocompleteEngine,
  requests: EntryRequests,
): Pick<AllRows, 'putEntries' | 'deleteEntries' | 'recordSelection' | 'listEntries'> {
  return {
    putEntries: {
      names: (request: { readonly dictionary: string } | UndecodedMessage, caller) =>
        caller.require(request instanceof UndecodedMessage ? dictionaryIn(request) : request.dictionary),
      load: 'low',
      bytes: MOST_ENTRIES_BYTES,
      decode: smallRequestDecoders.putEntries,
      handle: async (request: PutEntriesRequest | UndecodedMessage, call) => {
        const { dictionary, violations, entries } = await requests.putEntries(request);
        throwIfInvalid(violations);
        // The wrapper has read the dictionary of a large request, but has not decoded the request.
        call.checkNames({ dictionary });
        await engine.putEntries(dictionary, entries, call);
        return {};
      },
    },

    deleteEntries: {
      names: byDictionary,
      load: 'low',
      bytes: MOST_IDS_BYTES,
      decode: requestDecoders.deleteEntries,
      handle: async ({ dictionary, entryIds }: DeleteEntriesRequest) => {
        const violations = new Violations();
        checkName(violations, 'dictionary', dictionary);
        checkEntryIds(violations, 'entry_ids', entryIds);
        violations.throwIfAny();
        return { deletedCount: await engine.deleteEntries(dictionary, entryIds) };
      },
    },

    recordSelection: {
      names: byDictionary,
      load: 'low',
      handle: async ({ dictionary, entryId, count: requested }) => {
        const violations = new Violations();
        checkName(violations, 'dictionary', dictionary);
        checkName(violations, 'entry_id', entryId);
        const bounds = { defaultValue: 1, max: MAX_SELECTIONS };
        const count = checkPositiveCount(violations, 'count', requested, bounds);
        violations.throwIfAny();
        const selectionCount = await engine.recordSelection(dictionary, entryId, count);
        return { recorded: selectionCount !== undefined, selectionCount: BigInt(selectionCount ?? 0) };
      },
    },

    listEntries: {
      names: byDictionary,
      load: 'low',
      handle: async ({ dictionary, startText: from, endText: to, pageSize: requested, pageToken }, call) => {
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
    },
  };
}
