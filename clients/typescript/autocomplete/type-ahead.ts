import { status, type ClientDuplexStream, type ServiceError } from '@grpc/grpc-js';
import { errorReasonToJSON } from '../../../generated/typescript/holdfast/v1/error_reason';
import {
  AutocompleteServiceService as methods,
  type SuggestError,
  type SuggestRequest,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import type { CallChannel } from '../calls/call-channel';
import { onAbort } from '../calls/abort';
import { ClosedError, errorOf, errorOfCall, type HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';
import { pauseBeforeRepeat } from '../pauses';
import { toMs, type TimeSpan } from '../time-span';
import { suggestionOf, type Suggestion } from './suggestions';

export interface TypeAheadOptions {
  /** The pause after a keystroke before the query is sent. Default: 30 ms. 0: each keystroke is sent. */
  readonly debounce?: TimeSpan;
}

interface Query {
  readonly text: string;
  readonly id: bigint;
  readonly typedAt: number;
  readonly resolve: (suggestions: Suggestion[] | undefined) => void;
  readonly reject: (error: Error) => void;
}

type Stream = ClientDuplexStream<SuggestStreamRequest, SuggestStreamResponse>;

/** Suggestions for an input field. One stream answers all keystrokes, and a newer query supersedes the older ones. */
export class TypeAhead {
  private readonly debounceMs: number;
  private readonly stopWatchingChannel: () => void;
  /** The latest query without an answer. */
  private latest: Query | undefined;
  private lastId = 0n;
  private failures = 0;
  private timer: NodeJS.Timeout | undefined;
  private stream: Stream | undefined;
  private isClosed = false;

  /** @internal */
  constructor(
    private readonly channel: CallChannel,
    private readonly request: SuggestRequest,
    { debounce = NUMBERS.typeAhead.debounceMs }: TypeAheadOptions,
  ) {
    this.debounceMs = toMs(debounce, 'debounce');
    this.stopWatchingChannel = onAbort(channel.closed, () => this.close());
  }

  /**
   * The suggestions for the text of the input field. Resolves with undefined if a newer query has superseded this query:
   * show nothing then. Rejects with a HoldfastError.
   */
  type(text: string): Promise<Suggestion[] | undefined> {
    this.latest?.resolve(undefined);
    this.latest = undefined;
    if (this.isClosed) return Promise.reject(new ClosedError());
    return new Promise((resolve, reject) => {
      this.lastId += 1n;
      this.latest = { text, id: this.lastId, typedAt: performance.now(), resolve, reject };
      this.sendAfter(this.debounceMs);
    });
  }

  /** Ends the stream. A query without an answer rejects with a ClosedError. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.timer);
    this.stopWatchingChannel();
    this.stream?.cancel();
    this.fail(new ClosedError());
  }

  private sendAfter(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.send(), ms);
  }

  private async send(): Promise<void> {
    try {
      this.stream ??= await this.open();
    } catch (error) {
      return this.fail(errorOfCall(error as ServiceError));
    }
    const { latest } = this;
    // The answer to an earlier query is not wanted any more, so only the latest query is sent.
    if (latest) this.stream.write({ queryId: latest.id, suggest: { ...this.request, query: latest.text } });
  }

  private async open(): Promise<Stream> {
    const metadata = await this.channel.metadata();
    if (this.stream) return this.stream;
    const client = this.channel.current;
    const { path, requestSerialize, responseDeserialize } = methods.suggestStream;
    const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
    let failure: ServiceError | undefined;
    stream.on('data', (response: SuggestStreamResponse) => this.read(response));
    stream.on('error', (error: ServiceError) => (failure = error));
    stream.on('status', () => {
      if (this.stream !== stream) return;
      this.stream = undefined;
      const error = errorOfCall(failure);
      if (error.code === status.UNAVAILABLE) this.channel.leave(client);
      this.broken(error);
    });
    return stream;
  }

  private read({ queryId, result }: SuggestStreamResponse): void {
    const { latest } = this;
    if (queryId !== latest?.id || result === undefined) return;
    this.failures = 0;
    this.latest = undefined;
    if (result.$case === 'suggestions') latest.resolve(result.value.suggestions.map(suggestionOf));
    else latest.reject(errorOfQuery(result.value));
  }

  /** The next stream gets the latest query, if somebody still waits for the answer. */
  private broken(error: HoldfastError): void {
    const { latest } = this;
    if (this.isClosed || latest === undefined) return;
    this.failures += 1;
    const pauseMs = pauseBeforeRepeat(this.failures, error.retryAfterMs);
    const isLate = performance.now() + pauseMs > latest.typedAt + NUMBERS.limits.callMs;
    if (error.code === status.UNAVAILABLE && !isLate) this.sendAfter(pauseMs);
    else this.fail(error);
  }

  private fail(error: Error): void {
    this.latest?.reject(error);
    this.latest = undefined;
  }
}

function errorOfQuery({ code, reason, message }: SuggestError): HoldfastError {
  return errorOf(message, { code, reason: errorReasonToJSON(reason).replace('ERROR_REASON_', '') });
}
