import {
  AutocompleteServiceService,
  SuggestRecentsResponse,
  type SuggestRequest,
  SuggestResponse,
  type SuggestStreamRequest,
  SuggestStreamResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import type { CheckNames } from '../../access/authorization';
import { answerWithinMs, type Call } from '../../base/call';
import type { Clock } from '../../base/clock';
import type { HoldfastError } from '../../base/errors';
import type { FailureCounts } from '../../rpc/entry/call-meters';
import { checkName, checkPageSize, requireName, Violations } from '../../rpc/fields';
import { OpenStreams, within } from '../../rpc/open-streams';
import type { HandledCall, OfferedService, Rows } from '../../rpc/service';
import type { RequestReader } from '../../rpc/streams';
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
import { dictionaryRows, entryRows, MOST_ENTRIES_BYTES } from './dictionary-rows';
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
import { EntryRequests, type ImportPart, smallRequestDecoders } from './large-requests';
import { QueryStream } from './suggest-stream';

type AllRows = Rows<typeof AutocompleteServiceService>;

/** The imports of one server before their start. Each waits a short time, and costs about 20 kB of memory. */
const MAX_STARTS = 1000;

export interface OpenedService {
  readonly service: OfferedService;
  /** Ends all streams, because a server can only stop when no stream keeps a connection open. */
  drain(): void;
  /** Ends the thread that checks large requests. Calls that wait for the thread fail. */
  close(): Promise<void>;
}

/** Serializers of our own are faster, for the answers that each keystroke needs. */
export function autocompleteService(
  engine: AutocompleteEngine,
  limits: AutocompleteLimits,
  clock: Clock,
  queryFailures: FailureCounts,
): OpenedService {
  const requests = new EntryRequests(clock);
  const starts = new OpenStreams(MAX_STARTS, 'imports without a start');
  const imports = new OpenStreams(limits.maxImports, 'imports');
  const suggestStreams = new OpenStreams(limits.maxSuggestStreams, 'SuggestStreams');
  const rows: AllRows = {
    ...recentsRows(engine),
    ...dictionaryRows(engine),
    ...entryRows(engine, requests),
    ...suggestRows(engine, suggestStreams, queryFailures),

    importDictionary: {
      /** The handler passes each part. Parts after the start name nothing themselves. */
      names: ({ part }: { readonly part: ImportPart | undefined }, caller) => {
        if (part?.$case === 'start') caller.require(part.value.dictionary);
        else caller.requireAgain();
      },
      load: 'low',
      audit: ({ part }: { readonly part: ImportPart | undefined }) =>
        part?.$case === 'start' ? { action: 'import dictionary', name: part.value.dictionary } : undefined,
      bytes: MOST_ENTRIES_BYTES,
      decode: smallRequestDecoders.importDictionary,
      handle: async (messages: RequestReader<ImportMessage>, call) => {
        const interrupt = (error: HoldfastError): void => messages.interrupt(error);
        const start = await within(starts, interrupt, () => receiveStart(call, messages));
        const view = await within(imports, interrupt, () =>
          importDictionary(engine, call, start, messages, requests, limits.maxImportIdleMs),
        );
        return { dictionary: dictionaryMessage(view) };
      },
    },
  };
  return {
    service: {
      definition: AutocompleteServiceService,
      rows,
      kind: 'dictionary or list',
      isLoadedAtStart: true,
    },
    drain: () => {
      starts.drain();
      imports.drain();
      suggestStreams.drain();
    },
    close: () => requests.close(),
  };
}

const byList: CheckNames<{ readonly list: string }> = ({ list }, caller) => caller.require(list);

function recentsRows(
  engine: AutocompleteEngine,
): Pick<AllRows, 'addRecent' | 'removeRecent' | 'suggestRecents' | 'deleteRecents'> {
  return {
    addRecent: {
      names: byList,
      load: 'low',
      handle: async ({ list, text, entryId, payload, capacity: requested }) => {
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
    },

    removeRecent: {
      names: byList,
      load: 'low',
      handle: async ({ list, entryId, text }) => {
        const violations = new Violations();
        checkName(violations, 'list', list);
        checkOptionalId(violations, 'entry_id', entryId);
        if (entryId === '') checkEntryText(violations, 'text', text);
        else checkQuery(violations, 'text', text);
        violations.throwIfAny();
        return { removed: await engine.removeRecent(list, { entryId, text }) };
      },
    },

    suggestRecents: {
      names: byList,
      load: 'low',
      answer: serializer(SuggestRecentsResponse),
      handle: async (request) => {
        const { list, query } = request;
        const violations = new Violations();
        checkName(violations, 'list', list);
        checkQuery(violations, 'query', query);
        const pageSize = checkPageSize(violations, 'page_size', request.pageSize, SUGGESTION_PAGES);
        const kinds = checkMatchKinds(violations, 'match_kinds', request.matchKinds);
        violations.throwIfAny();
        const suggestions = await engine.suggestRecents(list, { query, pageSize, kinds });
        return { suggestions: suggestions.map(suggestionMessage) };
      },
    },

    deleteRecents: {
      names: byList,
      load: 'low',
      handle: async ({ list }) => {
        requireName('list', list);
        return { deleted: await engine.deleteRecents(list) };
      },
    },
  };
}

const bySuggest: CheckNames<{ readonly dictionary: string; readonly recentsList: string }> = (
  { dictionary, recentsList },
  caller,
) => {
  caller.require(dictionary);
  if (recentsList !== '') caller.requireVerb('read', recentsList);
};

function suggestRows(
  engine: AutocompleteEngine,
  open: OpenStreams,
  failures: FailureCounts,
): Pick<AllRows, 'suggest' | 'suggestStream'> {
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
    suggest: {
      names: bySuggest,
      load: 'low',
      answer: serializer(SuggestResponse),
      handle: async (request, call) =>
        suggestMessage(await engine.suggest(readSuggest(request, '', call, answerWithinMs(call.timeoutMs)))),
    },

    suggestStream: {
      /** The handler passes each message. */
      names: ({ suggest }, caller) => {
        if (suggest !== undefined) bySuggest(suggest, caller);
      },
      load: 'low',
      answer: serializer(SuggestStreamResponse),
      handle: async (stream, call) => {
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
      },
    },
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
