import { status, type Client, type ClientDuplexStream, type ServiceError } from '@grpc/grpc-js';
import { errorReasonToJSON } from '../../../generated/typescript/holdfast/v1/error_reason';
import {
  AutocompleteServiceService as methods,
  type SuggestError,
  type SuggestRequest,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { either, onAbort, type JoinedSignal } from '../calls/abort';
import type { CallChannel, Prepared } from '../calls/call-channel';
import { attemptMs, CALL, timeoutOf, type CallOptions } from '../calls/call-options';
import { Repetition } from '../calls/repetition';
import { withCaller } from '../caller-stack';
import { ClosedError, errorOf, errorOfCall, noAnswer, type HoldfastError } from '../errors';
import type { Known } from '../known-options';
import { LONGEST_TIMER_MS, NUMBERS } from '../numbers';
import { toMs, type TimeSpan } from '../time-span';
import { suggestionOf, type Suggestion } from './suggestions';

export interface TypeAheadOptions extends CallOptions {
  /** The pause after a keystroke before the query is sent. Default: 30 ms. 0: each keystroke is sent. */
  readonly debounce?: TimeSpan | undefined;
  /** Closes the type-ahead. A query without an answer rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The longest time of one query, from the keystroke to the answer. Default: 10 s. */
  readonly timeout?: TimeSpan | undefined;
}

export const TYPE_AHEAD: Known<TypeAheadOptions> = { ...CALL, debounce: true };

interface Query {
  readonly text: string;
  readonly id: bigint;
  /** The time until which the answer is wanted. */
  readonly until: number;
  readonly resolve: (suggestions: Suggestion[] | undefined) => void;
  readonly reject: (error: Error) => void;
}

interface Stream {
  readonly call: ClientDuplexStream<SuggestStreamRequest, SuggestStreamResponse>;
  readonly client: Client;
}

/** A type-ahead. The type has public members only, so a test can pass a plain object. */
export type TypeAhead = Pick<TypeAheadClient, keyof TypeAheadClient>;

/** Suggestions for an input field. One stream answers all keystrokes, and a newer query supersedes the older ones. */
export class TypeAheadClient {
  private readonly debounceMs: number;
  private readonly timeoutMs: number;
  private readonly ends: JoinedSignal;
  private readonly closing = new AbortController();
  private readonly repetition = new Repetition(true);
  /** The latest query without an answer. */
  private latest: Query | undefined;
  private lastId = 0n;
  private sendTimer: NodeJS.Timeout | undefined;
  private answerTimer: NodeJS.Timeout | undefined;
  private stream: Stream | undefined;
  /** The time of the first query since the last answer. */
  private silentSince: number | undefined;
  private isOpening = false;
  private stopWatching: (() => void) | undefined;

  /** @internal */
  constructor(
    private readonly channel: CallChannel,
    private readonly request: SuggestRequest,
    options: TypeAheadOptions,
  ) {
    this.debounceMs = toMs(options.debounce ?? NUMBERS.typeAhead.debounceMs, 'debounce');
    this.timeoutMs = timeoutOf(options);
    this.ends = either(options.signal, channel.closed);
    const { signal } = this.ends;
    this.stopWatching = onAbort(signal, () => this.end(signal.reason as Error));
  }

  /**
   * The suggestions for the text of the input field. Resolves with undefined if a newer query has superseded this query:
   * show nothing then. Rejects with a HoldfastError.
   */
  type(text: string): Promise<Suggestion[] | undefined> {
    this.latest?.resolve(undefined);
    this.latest = undefined;
    const { signal } = this.closing;
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const answer = new Promise<Suggestion[] | undefined>((resolve, reject) => {
      this.lastId += 1n;
      const until = performance.now() + this.timeoutMs;
      this.latest = { text, id: this.lastId, until, resolve, reject };
      this.expectAnswer(this.latest, this.timeoutMs);
      this.sendAfter(this.debounceMs);
    });
    return withCaller(this.type, () => answer);
  }

  /** Ends the stream. A query without an answer rejects with a ClosedError. */
  close(): void {
    this.end(new ClosedError());
  }

  private end(reason: Error): void {
    if (this.closing.signal.aborted) return;
    this.closing.abort(reason);
    this.stopWatching?.();
    this.ends.dispose();
    clearTimeout(this.sendTimer);
    this.dropStream();
    this.fail(reason);
  }

  private sendAfter(ms: number): void {
    clearTimeout(this.sendTimer);
    this.sendTimer = setTimeout(() => void this.send(), Math.min(ms, LONGEST_TIMER_MS));
  }

  private async send(): Promise<void> {
    // The call that opens the stream sends the latest query.
    if (this.isOpening) return;
    if (this.stream === undefined) {
      this.isOpening = true;
      try {
        this.stream = this.open(await this.channel.prepare(this.closing.signal));
      } catch (error) {
        return this.broken(errorOfCall(error as ServiceError), false);
      } finally {
        this.isOpening = false;
      }
    }
    const { latest, stream } = this;
    if (latest === undefined) return;
    // The opening of the stream may have outlasted the debounce of the latest query.
    clearTimeout(this.sendTimer);
    this.silentSince ??= performance.now();
    stream.call.write({ queryId: latest.id, suggest: { ...this.request, query: latest.text } });
    this.expectAnswer(latest, attemptMs(latest.until - performance.now(), true));
  }

  private open({ client, metadata }: Prepared): Stream {
    const { path, requestSerialize, responseDeserialize } = methods.suggestStream;
    const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
    const stream = { call, client };
    let failure: ServiceError | undefined;
    call.on('data', (response: SuggestStreamResponse) => this.read(response));
    call.on('error', (error: ServiceError) => (failure = error));
    call.on('status', () => {
      if (this.stream !== stream) return;
      this.stream = undefined;
      const error = errorOfCall(failure);
      this.channel.failed(client, error);
      this.broken(error);
    });
    return stream;
  }

  private expectAnswer(query: Query, ms: number): void {
    clearTimeout(this.answerTimer);
    this.answerTimer = setTimeout(() => this.late(query), Math.min(Math.max(0, ms), LONGEST_TIMER_MS));
  }

  /** Leaves a silent server, and tries the next one if there is time. */
  private late(query: Query): void {
    if (this.latest !== query) return;
    const time = performance.now();
    const { stream } = this;
    if (stream && time - (this.silentSince ?? Infinity) >= NUMBERS.calls.silenceMs) {
      this.dropStream();
      this.channel.leave(stream.client);
    }
    const text = `the query has no answer within its timeout of ${this.timeoutMs} ms`;
    if (time >= query.until) this.fail(noAnswer(text));
    else this.broken(errorOf(text, { reason: '', code: status.DEADLINE_EXCEEDED }));
  }

  private read({ queryId, result }: SuggestStreamResponse): void {
    const { latest } = this;
    this.silentSince = undefined;
    if (queryId !== latest?.id || result === undefined) return;
    if (result.$case === 'error') return this.broken(errorOfQuery(result.value));
    clearTimeout(this.answerTimer);
    this.repetition.answered();
    this.latest = undefined;
    latest.resolve(result.value.suggestions.map(suggestionOf));
  }

  /** Sends the latest query again, if somebody still waits for the answer and a repetition helps. */
  private broken(error: HoldfastError, isSent = true): void {
    const { latest } = this;
    if (latest === undefined) return;
    const pauseMs = this.repetition.pauseAfter(error, isSent);
    const leftMs = latest.until - performance.now();
    if (pauseMs === undefined || pauseMs > leftMs) return this.fail(error);
    this.expectAnswer(latest, leftMs);
    this.sendAfter(pauseMs);
  }

  private dropStream(): void {
    const { stream } = this;
    this.stream = undefined;
    this.silentSince = undefined;
    stream?.call.cancel();
  }

  private fail(error: Error): void {
    clearTimeout(this.answerTimer);
    this.latest?.reject(error);
    this.latest = undefined;
    this.repetition.answered();
  }
}

function errorOfQuery({ code, reason, message }: SuggestError): HoldfastError {
  return errorOf(message, { code, reason: errorReasonToJSON(reason).replace('ERROR_REASON_', '') });
}
