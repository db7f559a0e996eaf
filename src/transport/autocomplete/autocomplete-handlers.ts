import {
  AutocompleteServiceService,
  SuggestRecentsResponse,
  SuggestResponse,
  SuggestStreamResponse,
  type AddRecentRequest,
  type AddRecentResponse,
  type AutocompleteServiceServer,
  type DeleteRecentsRequest,
  type DeleteRecentsResponse,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
  type RemoveRecentRequest,
  type RemoveRecentResponse,
  type SuggestRecentsRequest,
  type SuggestRequest,
  type SuggestStreamRequest,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import type { AutocompleteEngine } from '../../engine/autocomplete/autocomplete-engine';
import {
  DEFAULT_CAPACITY,
  MAX_CAPACITY,
  SUGGESTION_PAGES,
  type AutocompleteLimits,
} from '../../engine/autocomplete/limits';
import type { SuggestRequest as EngineRequest } from '../../engine/autocomplete/suggestion';
import { bidi, clientStream, unary, type CallContext } from '../grpc/call';
import { toErrorSummary } from '../grpc/errors';
import { checkName, requireName, Violations } from '../grpc/fields';
import { OpenStreams } from '../grpc/open-streams';
import { serializer } from '../grpc/serialize';
import { dictionaryHandlers, entryHandlers } from './dictionary-handlers';
import {
  checkEntryText,
  checkMatchKinds,
  checkOptionalId,
  checkPageSize,
  checkPayload,
  checkPositiveCount,
  checkQuery,
} from './fields';
import { importDictionary } from './import-stream';
import { dictionaryMessage, suggestErrorMessage, suggestionMessage, suggestMessage } from './messages';
import { requestDecoders } from './request-decoders';
import { QueryStream } from './suggest-stream';

/**
 * The generated AutocompleteService, with faster serializers for the answers that each keystroke needs, and with
 * decoders that do not read long lists.
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
  putEntries: { ...AutocompleteServiceService.putEntries, requestDeserialize: requestDecoders.putEntries },
  deleteEntries: {
    ...AutocompleteServiceService.deleteEntries,
    requestDeserialize: requestDecoders.deleteEntries,
  },
  importDictionary: {
    ...AutocompleteServiceService.importDictionary,
    requestDeserialize: requestDecoders.importDictionary,
  },
};

/** `drain` ends all streams, because an open stream keeps its connection open, and an open connection the server. */
export function autocompleteHandlers(
  context: CallContext,
  engine: AutocompleteEngine,
  limits: AutocompleteLimits,
): { readonly handlers: AutocompleteServiceServer; drain(): void } {
  const imports = new OpenStreams(limits.maxImports, 'imports');
  const suggestStreams = new OpenStreams(limits.maxSuggestStreams, 'SuggestStreams');
  const handlers = {
    ...recentsHandlers(context, engine),
    ...dictionaryHandlers(context, engine),
    ...entryHandlers(context, engine),
    ...suggestHandlers(context, engine, suggestStreams),

    importDictionary: clientStream<ImportDictionaryRequest, ImportDictionaryResponse>(
      context,
      async (requests) => {
        const leave = imports.enter((error) => requests.interrupt(error));
        try {
          const view = await importDictionary(engine, requests, limits.maxImportIdleMs);
          return { dictionary: dictionaryMessage(view) };
        } finally {
          leave();
        }
      },
    ),
  };
  return {
    handlers,
    drain: () => {
      imports.drain();
      suggestStreams.drain();
    },
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

function suggestHandlers(context: CallContext, engine: AutocompleteEngine, open: OpenStreams) {
  const method = AutocompleteServiceService.suggestStream.path;

  /** Answers an invalid query with an error message, so that the stream continues. */
  const answer = async ({ queryId, suggest }: SuggestStreamRequest): Promise<SuggestStreamResponse> => {
    try {
      const value = suggestMessage(await engine.suggest(readSuggest(suggest, 'suggest')));
      return { queryId, result: { $case: 'suggestions', value } };
    } catch (error) {
      const value = suggestErrorMessage(toErrorSummary(error, method, context.log));
      return { queryId, result: { $case: 'error', value } };
    }
  };

  return {
    suggest: unary<SuggestRequest, SuggestResponse>(context, async (request) =>
      suggestMessage(await engine.suggest(readSuggest(request, ''))),
    ),

    suggestStream: bidi<SuggestStreamRequest, SuggestStreamResponse>(context, async (stream, call) => {
      const queries = new QueryStream<SuggestStreamRequest, SuggestStreamResponse>({
        lookUp: answer,
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

function readSuggest(request: SuggestRequest | undefined, field: '' | 'suggest'): EngineRequest {
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
  violations.throwIfAny();
  return { dictionary, query, pageSize, pageToken, kinds, recentsList };
}
