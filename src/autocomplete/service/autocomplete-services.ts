import type { UntypedHandleCall } from '@grpc/grpc-js';
import {
  type AddRecentRequest,
  type AddRecentResponse,
  AutocompleteServiceService,
  type DeleteRecentsRequest,
  type DeleteRecentsResponse,
  type ImportDictionaryResponse,
  type RemoveRecentRequest,
  type RemoveRecentResponse,
  AutocompleteServiceService as service,
  type SuggestRecentsRequest,
  SuggestRecentsResponse,
  type SuggestRequest,
  SuggestResponse,
  type SuggestStreamRequest,
  SuggestStreamResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { answerWithinMs, type Call } from '../../base/call';
import type { HoldfastError } from '../../base/errors';
import type { FailureCounts } from '../../rpc/entry/call-meters';
import { checkName, checkPageSize, requireName, Violations } from '../../rpc/fields';
import { bidi, type CallContext, clientStream, type HandledCall, unary } from '../../rpc/handlers';
import { OpenStreams, within } from '../../rpc/open-streams';
import { serializer } from '../../rpc/wire';
import type { AutocompleteEngine } from '../autocomplete';
import {
  type AutocompleteLimits,
  DEFAULT_CAPACITY,
  type SuggestRequest as EngineRequest,
  MAX_CAPACITY,
  STREAM_PATIENCE_MS,
  SUGGESTION_PAGES,
} from '../suggestion';
import { dictionaryHandlers, entryHandlers } from './dictionary-rows';
import {
  checkEntryText,
  checkMatchKinds,
  checkMaxStaleness,
  checkOptionalId,
  checkPayload,
  checkPositiveCount,
  checkQuery,
} from './entry-fields';
import { dictionaryMessage, suggestErrorMessage, suggestionMessage, suggestMessage } from './entry-messages';
import { importDictionary, type ImportMessage, receiveStart } from './import-stream';
import { EntryRequests, requestDecoders, smallRequestDecoders } from './large-requests';
import { QueryStream } from './suggest-stream';

/**
 * The generated AutocompleteService, with faster serializers for the answers that each keystroke needs. Its decoders
 * stop at lists that are too long, and leave large messages to a thread.
 */
export const autocompleteServiceDefinition = {
  ...AutocompleteServiceService,
  suggest: { ...AutocompleteServiceService.suggest, responseSerialize: serializer(SuggestResponse) },
  suggestRecents: {
    ...AutocompleteServiceService.suggestRecents,
    responseSerialize: serializer(SuggestRecentsResponse),
  },
  suggestStream: {
    ...AutocompleteServiceService.suggestStream,
    responseSerialize: serializer(SuggestStreamResponse),
  },
  putEntries: {
    ...AutocompleteServiceService.putEntries,
    requestDeserialize: smallRequestDecoders.putEntries,
  },
  deleteEntries: {
    ...AutocompleteServiceService.deleteEntries,
    requestDeserialize: requestDecoders.deleteEntries,
  },
  importDictionary: {
    ...AutocompleteServiceService.importDictionary,
    requestDeserialize: smallRequestDecoders.importDictionary,
  },
};

/** The imports of one server before their start. Each waits a short time, and costs about 20 kB of memory. */
const MAX_STARTS = 1000;

export interface AutocompleteHandlers {
  readonly handlers: Record<keyof typeof AutocompleteServiceService, UntypedHandleCall>;
  /** Ends all streams, because a server can only stop when no stream keeps a connection open. */
  drain(): void;
  /** Ends the thread that checks large requests. Calls that wait for the thread fail. */
  close(): Promise<void>;
}

export function autocompleteHandlers(
  context: CallContext,
  engine: AutocompleteEngine,
  limits: AutocompleteLimits,
  queryFailures: FailureCounts,
): AutocompleteHandlers {
  const requests = new EntryRequests(context.clock);
  const starts = new OpenStreams(MAX_STARTS, 'imports without a start');
  const imports = new OpenStreams(limits.maxImports, 'imports');
  const suggestStreams = new OpenStreams(limits.maxSuggestStreams, 'SuggestStreams');
  const handlers = {
    ...recentsHandlers(context, engine),
    ...dictionaryHandlers(context, engine),
    ...entryHandlers(context, engine, requests),
    ...suggestHandlers(context, engine, suggestStreams, queryFailures),

    importDictionary: clientStream<ImportMessage, ImportDictionaryResponse>(
      context,
      async (messages, call) => {
        const interrupt = (error: HoldfastError): void => messages.interrupt(error);
        const start = await within(starts, interrupt, () => receiveStart(call, messages));
        const view = await within(imports, interrupt, () =>
          importDictionary(engine, call, start, messages, requests, limits.maxImportIdleMs),
        );
        return { dictionary: dictionaryMessage(view) };
      },
    ),
  };
  return {
    handlers,
    drain: () => {
      starts.drain();
      imports.drain();
      suggestStreams.drain();
    },
    close: () => requests.close(),
  };
}

function recentsHandlers(context: CallContext, engine: AutocompleteEngine) {
  return {
    addRecent: unary<AddRecentRequest, AddRecentResponse>(
      context,
      async ({ list, text, entryId, payload, capacity: requested }) => {
        const violations = new Violations();
        checkName(violations, 'list', list);
        checkEntryText(violations, 'text', text);
        checkOptionalId(violations, 'entry_id', entryId);
        checkPayload(violations, 'payload', payload);
        const bounds = { defaultValue: DEFAULT_CAPACITY, max: MAX_CAPACITY };
        const capacity = checkPositiveCount(violations, 'capacity', requested, bounds);
        violations.throwIfAny();
        await engine.addRecent(list, { text, entryId, payload }, capacity);
        return {};
      },
    ),

    removeRecent: unary<RemoveRecentRequest, RemoveRecentResponse>(
      context,
      async ({ list, entryId, text }) => {
        const violations = new Violations();
        checkName(violations, 'list', list);
        checkOptionalId(violations, 'entry_id', entryId);
        if (entryId === '') checkEntryText(violations, 'text', text);
        else checkQuery(violations, 'text', text);
        violations.throwIfAny();
        return { removed: await engine.removeRecent(list, { entryId, text }) };
      },
    ),

    suggestRecents: unary<SuggestRecentsRequest, SuggestRecentsResponse>(context, async (request) => {
      const { list, query } = request;
      const violations = new Violations();
      checkName(violations, 'list', list);
      checkQuery(violations, 'query', query);
      const pageSize = checkPageSize(violations, 'page_size', request.pageSize, SUGGESTION_PAGES);
      const kinds = checkMatchKinds(violations, 'match_kinds', request.matchKinds);
      violations.throwIfAny();
      const suggestions = await engine.suggestRecents(list, { query, pageSize, kinds });
      return { suggestions: suggestions.map(suggestionMessage) };
    }),

    deleteRecents: unary<DeleteRecentsRequest, DeleteRecentsResponse>(context, async ({ list }) => {
      requireName('list', list);
      return { deleted: await engine.deleteRecents(list) };
    }),
  };
}

function suggestHandlers(
  context: CallContext,
  engine: AutocompleteEngine,
  open: OpenStreams,
  failures: FailureCounts,
) {
  /** Answers an invalid query with an error message, so that the stream continues. */
  const answer = async (message: SuggestStreamRequest, call: HandledCall): Promise<SuggestStreamResponse> => {
    const { queryId, suggest } = message;
    call.countCommand();
    try {
      call.checkNames(message);
      call.takeCommand();
      const request = readSuggest(suggest, 'suggest', call, STREAM_PATIENCE_MS);
      const value = suggestMessage(await engine.suggest(request));
      return { queryId, result: { $case: 'suggestions', value } };
    } catch (error) {
      const summary = call.summaryOf(error);
      failures.add(summary.reason);
      return { queryId, result: { $case: 'error', value: suggestErrorMessage(summary) } };
    }
  };

  return {
    suggest: unary<SuggestRequest, SuggestResponse>(context, async (request, call) =>
      suggestMessage(await engine.suggest(readSuggest(request, '', call, answerWithinMs(call.timeoutMs)))),
    ),

    suggestStream: bidi<SuggestStreamRequest, SuggestStreamResponse>(context, async (stream, call) => {
      const queries = new QueryStream<SuggestStreamRequest, SuggestStreamResponse>({
        lookUp: (query) => answer(query, call),
        write: (message) => stream.write(message),
      });
      const leave = open.enter((error) => queries.abort(error));
      call.onCancelled(() => queries.abort());
      stream.on('drain', () => queries.resume());
      stream.on('end', () => queries.finish());
      stream.on('data', (request: SuggestStreamRequest) => queries.push(request));
      try {
        await queries.ended;
      } finally {
        leave();
      }
    }),
  };
}

function readSuggest(
  request: SuggestRequest | undefined,
  field: '' | 'suggest',
  { connection: caller }: Call,
  patienceMs: number,
): EngineRequest {
  const violations = new Violations();
  if (request === undefined) {
    violations.add(field, 'is required');
    return violations.throw();
  }
  const path = field === '' ? '' : `${field}.`;
  const { dictionary, query, pageToken, recentsList } = request;
  checkName(violations, `${path}dictionary`, dictionary);
  checkQuery(violations, `${path}query`, query);
  const pageSize = checkPageSize(violations, `${path}page_size`, request.pageSize, SUGGESTION_PAGES);
  const kinds = checkMatchKinds(violations, `${path}match_kinds`, request.matchKinds);
  if (recentsList !== '') checkName(violations, `${path}recents_list`, recentsList);
  const maxStalenessMs = checkMaxStaleness(violations, `${path}max_staleness`, request.maxStaleness);
  violations.throwIfAny();
  return {
    dictionary,
    query,
    pageSize,
    pageToken,
    kinds,
    recentsList,
    asked: { maxStalenessMs, patienceMs, caller },
  };
}

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
