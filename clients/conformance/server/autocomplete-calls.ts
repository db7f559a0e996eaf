import type { ServerDuplexStream } from '@grpc/grpc-js';
import {
  AutocompleteServiceService,
  Dictionary,
  LoadState,
  type AutocompleteServiceServer,
  type Entry,
  type Profile,
  type SuggestRequest,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import type { Catalogue } from './catalogue';
import { refuse, type ServedCalls } from './served-calls';
import { commandFailed, serviceError, statusSpec } from './status-spec';

/** The most entries of a request in the contract. */
const MAX_ENTRIES = 1000;

/** AutocompleteService over a catalogue in memory. */
export class AutocompleteCalls {
  private readonly streams = new Set<ServerDuplexStream<SuggestStreamRequest, SuggestStreamResponse>>();

  constructor(
    private readonly catalogue: Catalogue,
    private readonly served: ServedCalls,
  ) {}

  handlers(): AutocompleteServiceServer {
    return {
      ...this.recents(),
      ...this.dictionaries(),
      importDictionary: this.importDictionary(),
      suggestStream: (call) => this.suggestStream(call),
    };
  }

  cutStreams(): void {
    for (const stream of this.streams) stream.emit('error', serviceError(statusSpec('DRAINING')));
  }

  private recents() {
    const { catalogue, served } = this;
    const { addRecent, removeRecent, suggestRecents, deleteRecents } = AutocompleteServiceService;
    const list = (request: { readonly list: string }): string => request.list;
    return {
      addRecent: served.unary(methodOf(addRecent), list, ({ list, text, entryId, payload }: AddRecent) => {
        catalogue.addRecent(list, { entryId, text, aliases: [], weight: 0n, payload });
        return {};
      }),
      removeRecent: served.unary(
        methodOf(removeRecent),
        list,
        (request: { list: string; entryId: string; text: string }) => ({
          removed: catalogue.removeRecent(request.list, request.entryId, request.text),
        }),
      ),
      suggestRecents: served.unary(
        methodOf(suggestRecents),
        list,
        (request: { list: string; query: string; pageSize: number }) => ({
          suggestions: catalogue.suggestRecents(request.list, request.query, request.pageSize),
        }),
      ),
      deleteRecents: served.unary(methodOf(deleteRecents), list, (request: { list: string }) => ({
        deleted: catalogue.deleteRecents(request.list),
      })),
    };
  }

  private dictionaries() {
    const { catalogue, served } = this;
    const { dictionaries } = catalogue;
    const service = AutocompleteServiceService;
    const name = (request: { readonly dictionary: string }): string => request.dictionary;
    return {
      createDictionary: served.unary(methodOf(service.createDictionary), name, ({ dictionary }: Named) => {
        if (!dictionaries.has(dictionary)) dictionaries.set(dictionary, new Map());
        return { dictionary: this.info(dictionary) };
      }),
      putEntries: served.unary(
        methodOf(service.putEntries),
        name,
        (request: Named & { entries: Entry[] }) => {
          this.known(request.dictionary);
          if (request.entries.length > MAX_ENTRIES) throw refuse('INVALID_FIELD');
          catalogue.put(request.dictionary, request.entries);
          return {};
        },
      ),
      deleteEntries: served.unary(
        methodOf(service.deleteEntries),
        name,
        (request: Named & { entryIds: string[] }) => {
          const entries = dictionaries.get(this.known(request.dictionary));
          return { deletedCount: request.entryIds.filter((id) => entries?.delete(id)).length };
        },
      ),
      recordSelection: served.unary(
        methodOf(service.recordSelection),
        name,
        (request: Named & { entryId: string; count?: number | undefined }) => {
          const count = catalogue.select(this.known(request.dictionary), request.entryId, request.count ?? 1);
          return { recorded: count !== undefined, selectionCount: count ?? 0n };
        },
      ),
      suggest: served.unary(
        methodOf(service.suggest),
        name,
        ({ dictionary, query, pageSize, pageToken }: SuggestRequest) => ({
          ...catalogue.suggestPage(this.known(dictionary), query, pageSize, pageToken),
          partial: false,
        }),
      ),
      listEntries: served.unary(methodOf(service.listEntries), name, ({ dictionary }: Named) => ({
        entries: catalogue
          .entries(this.known(dictionary))
          .map(({ entry, selections }) => ({ entry, selectionCount: selections })),
        nextPageToken: '',
      })),
      getDictionary: served.unary(methodOf(service.getDictionary), name, ({ dictionary }: Named) => ({
        dictionary: this.info(this.known(dictionary)),
      })),
      listDictionaries: served.unary(
        methodOf(service.listDictionaries),
        () => '',
        () => ({
          dictionaries: [...dictionaries.keys()].map((one) => this.info(one)),
          nextPageToken: '',
        }),
      ),
      deleteDictionary: served.unary(methodOf(service.deleteDictionary), name, ({ dictionary }: Named) => ({
        deleted: dictionaries.delete(dictionary),
      })),
    };
  }

  private importDictionary(): AutocompleteServiceServer['importDictionary'] {
    return (call, answer) => {
      const entries: Entry[] = [];
      let dictionary = '';
      let profile: Profile | undefined;
      call.on('data', ({ part }) => {
        if (part?.$case === 'start') ({ dictionary, profile } = part.value);
        if (part?.$case === 'batch') entries.push(...part.value.entries);
        if (part?.$case !== 'commit') return;
        this.served.record('ImportDictionary', dictionary, { entries: entries.length, profile });
        const act = this.served.takeover('ImportDictionary', dictionary);
        if (act?.kind === 'fail') return answer(serviceError(act.status));
        if (Number(part.value.entryCount) !== entries.length)
          return answer(serviceError(statusSpec('INVALID_FIELD')));
        this.catalogue.replace(dictionary, entries);
        answer(null, { dictionary: this.info(dictionary) });
      });
      call.on('error', () => undefined);
    };
  }

  private suggestStream(call: ServerDuplexStream<SuggestStreamRequest, SuggestStreamResponse>): void {
    const refused = this.served.stream('SuggestStream', '', call, {});
    if (refused) return void call.emit('error', refused);
    this.streams.add(call);
    call.on('data', ({ queryId, suggest }: SuggestStreamRequest) => {
      const { dictionary = '', query = '', pageSize = 0 } = suggest ?? {};
      this.served.record('SuggestStream', dictionary, { query });
      const act = this.served.takeover('query', dictionary);
      if (act?.kind === 'drop') return;
      if (act?.kind === 'fail') {
        const { code, reason, message } = commandFailed(act.status);
        return void call.write({ queryId, result: { $case: 'error', value: { code, reason, message } } });
      }
      const answer = (): void => {
        const suggestions = this.catalogue.suggest(dictionary, query, pageSize);
        const value = { suggestions, nextPageToken: '', partial: false };
        call.write({ queryId, result: { $case: 'suggestions', value } });
      };
      setTimeout(answer, act?.kind === 'delay' ? act.ms : 0);
    });
    call.on('end', () => call.end());
    call.on('error', () => undefined);
    call.on('close', () => this.streams.delete(call));
  }

  private known(dictionary: string): string {
    if (!this.catalogue.dictionaries.has(dictionary)) throw refuse('NO_SUCH_DICTIONARY');
    return dictionary;
  }

  private info(name: string): Dictionary {
    const entryCount = BigInt(this.catalogue.entries(name).length);
    return Dictionary.create({ name, entryCount, generation: 1n, loadState: LoadState.LOAD_STATE_READY });
  }
}

interface Named {
  readonly dictionary: string;
}

interface AddRecent {
  readonly list: string;
  readonly text: string;
  readonly entryId: string;
  readonly payload: Buffer;
}

function methodOf({ path }: { readonly path: string }): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
