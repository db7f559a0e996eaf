import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import {
  SuggestRequest,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { pauseAfter } from '../typescript-common/retry';
import type { AutocompleteServers } from './calls';

const PAGE_SIZE = 10;
/**
 * A suggestion may be a second old. So most keystrokes cost the store nothing, and suggestions go on for a second while
 * the store cannot be reached. Recents are always current.
 */
const MAX_STALENESS = { seconds: 1n, nanos: 0 };

export interface Answer {
  readonly query: string;
  readonly result: NonNullable<SuggestStreamResponse['result']>;
  /** The time since the query was first sent (ms), with the time of broken streams. */
  readonly latencyMs: number;
}

export interface QueryEvents {
  /** Called for the answer to the current query only. */
  onAnswer(answer: Answer): void;
  /** Called once each time the stream breaks. The program then opens a new stream. */
  onBroken(why: string): void;
  /** Called for an error that no retry can help. */
  onFailed(error: unknown): void;
}

interface Query {
  readonly id: bigint;
  readonly text: string;
  readonly askedAt: number;
  readonly isAnswered: boolean;
}

/**
 * Sends queries over a stream, and opens a new stream if the stream breaks. Only the newest query is sent on a new
 * stream, and after the stream was blocked. Answers to older queries are dropped.
 */
export class Queries {
  private readonly closed = new AbortController();
  private stream: ClientDuplexStream<SuggestStreamRequest, SuggestStreamResponse> | undefined;
  private isBlocked = false;
  private lastId = 0n;
  private current: Query | undefined;

  constructor(
    private readonly servers: AutocompleteServers,
    private readonly target: { readonly dictionary: string; readonly recents: string },
    private readonly events: QueryEvents,
  ) {
    this.keepStreamOpen().catch((error: unknown) => this.closed.signal.aborted || events.onFailed(error));
  }

  /** Sends a query. The query replaces the previous query. */
  ask(text: string): void {
    this.current = { id: this.nextId(), text, askedAt: performance.now(), isAnswered: false };
    this.send();
  }

  get isWaiting(): boolean {
    return this.current !== undefined && !this.current.isAnswered;
  }

  close(): void {
    this.closed.abort();
    this.stream?.cancel();
  }

  private nextId(): bigint {
    this.lastId += 1n;
    return this.lastId;
  }

  private send(): void {
    // A query that is not sent now is sent when the stream accepts writes again, or on the next stream.
    if (this.current === undefined || this.stream === undefined || this.isBlocked) return;
    const { id, text } = this.current;
    const { dictionary, recents } = this.target;
    const suggest = SuggestRequest.create({
      dictionary,
      query: text,
      pageSize: PAGE_SIZE,
      recentsList: recents,
      maxStaleness: MAX_STALENESS,
    });
    this.isBlocked = !this.stream.write({ queryId: id, suggest });
  }

  private async keepStreamOpen(): Promise<void> {
    for (let failures = 0; !this.closed.signal.aborted;) {
      const { error, hasAnswered } = await this.readStream();
      if (this.closed.signal.aborted) return;
      failures = hasAnswered ? 1 : failures + 1;
      const pauseMs = pauseAfter(error, failures);
      if (pauseMs === undefined) throw error ?? new Error('the stream ended');
      if (failures === 1) this.events.onBroken(error?.details ?? 'the server ended the stream');
      this.servers.next();
      await sleep(pauseMs, undefined, { signal: this.closed.signal });
    }
  }

  /** Reads one stream to its end. The stream has no deadline, because it stays open while the user types. */
  private async readStream(): Promise<{ error?: ServiceError; hasAnswered: boolean }> {
    const stream = this.servers.client().suggestStream();
    this.stream = stream;
    this.isBlocked = false;
    stream.on('drain', () => {
      if (this.stream !== stream) return;
      this.isBlocked = false;
      if (this.isWaiting) this.send();
    });
    this.askAgain();
    let hasAnswered = false;
    try {
      for await (const answer of stream as AsyncIterable<SuggestStreamResponse>) {
        hasAnswered = true;
        this.onAnswer(answer);
      }
      return { hasAnswered };
    } catch (error) {
      return { error: error as ServiceError, hasAnswered };
    } finally {
      this.stream = undefined;
    }
  }

  /** Sends the current query again under a new id. The answer shows the user that the stream works again. */
  private askAgain(): void {
    if (this.current === undefined) return;
    const { text, askedAt } = this.current;
    const startedAt = this.current.isAnswered ? performance.now() : askedAt;
    this.current = { id: this.nextId(), text, askedAt: startedAt, isAnswered: false };
    this.send();
  }

  private onAnswer({ queryId, result }: SuggestStreamResponse): void {
    const { current } = this;
    if (result === undefined || current?.id !== queryId || current.isAnswered) return;
    this.current = { ...current, isAnswered: true };
    const { text, askedAt } = current;
    this.events.onAnswer({ query: text, result, latencyMs: performance.now() - askedAt });
  }
}
