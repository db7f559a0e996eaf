import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import {
  SuggestRequest,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { pauseAfter } from '../worker-typescript/retry';
import type { AutocompleteServers } from './calls';

const PAGE_SIZE = 10;

export interface Answer {
  readonly query: string;
  readonly result: NonNullable<SuggestStreamResponse['result']>;
  /** Since the query was asked for the first time: what the person waited, broken streams included. */
  readonly latencyMs: number;
}

export interface Hopes {
  /** To the present query only. */
  onAnswer(answer: Answer): void;
  /** The stream broke, and another one will be tried. Once for each break. */
  onBroken(why: string): void;
  /** There is no use in trying again. */
  onFailed(error: unknown): void;
}

interface Query {
  readonly id: bigint;
  readonly text: string;
  readonly askedAt: number;
  readonly isAnswered: boolean;
}

/**
 * One query after the other over a stream that is opened again whenever it breaks. Only the present query counts:
 * it is what a new stream is sent first, and what is sent when a stream takes writes again that it did not take for
 * a while; whatever answers another one is dropped.
 */
export class Queries {
  private readonly closed = new AbortController();
  private stream: ClientDuplexStream<SuggestStreamRequest, SuggestStreamResponse> | undefined;
  private isBlocked = false;
  private lastId = 0n;
  private present: Query | undefined;

  constructor(
    private readonly servers: AutocompleteServers,
    private readonly where: { readonly dictionary: string; readonly recents: string },
    private readonly hopes: Hopes,
  ) {
    this.follow().catch((error: unknown) => this.closed.signal.aborted || hopes.onFailed(error));
  }

  /** Asks, and gives up whatever was asked before. */
  ask(text: string): void {
    this.present = { id: this.nextId(), text, askedAt: performance.now(), isAnswered: false };
    this.send();
  }

  get isWaiting(): boolean {
    return this.present !== undefined && !this.present.isAnswered;
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
    // What is not sent now goes out with the next stream, or when this one takes writes again.
    if (this.present === undefined || this.stream === undefined || this.isBlocked) return;
    const { id, text } = this.present;
    const { dictionary, recents } = this.where;
    const suggest = SuggestRequest.create({
      dictionary,
      query: text,
      pageSize: PAGE_SIZE,
      recentsList: recents,
    });
    this.isBlocked = !this.stream.write({ queryId: id, suggest });
  }

  private async follow(): Promise<void> {
    for (let failures = 0; !this.closed.signal.aborted;) {
      const { error, heard } = await this.read();
      if (this.closed.signal.aborted) return;
      failures = heard ? 1 : failures + 1;
      const pauseMs = pauseAfter(error, failures);
      if (pauseMs === undefined) throw error ?? new Error('the stream ended');
      if (failures === 1) this.hopes.onBroken(error?.details ?? 'the server ended the stream');
      this.servers.next();
      await sleep(pauseMs, undefined, { signal: this.closed.signal });
    }
  }

  /** Reads one stream to its end. Without a deadline: it is open for as long as somebody types. */
  private async read(): Promise<{ error?: ServiceError; heard: boolean }> {
    const stream = this.servers.client().suggestStream();
    this.stream = stream;
    this.isBlocked = false;
    stream.on('drain', () => {
      if (this.stream !== stream) return;
      this.isBlocked = false;
      if (this.isWaiting) this.send();
    });
    this.askAnew();
    let heard = false;
    try {
      for await (const answer of stream as AsyncIterable<SuggestStreamResponse>) {
        heard = true;
        this.onAnswer(answer);
      }
      return { heard };
    } catch (error) {
      return { error: error as ServiceError, heard };
    } finally {
      this.stream = undefined;
    }
  }

  /** The same query under a new id. One that was answered too: its answer says that all is well again. */
  private askAnew(): void {
    if (this.present === undefined) return;
    const { text, askedAt } = this.present;
    const since = this.present.isAnswered ? performance.now() : askedAt;
    this.present = { id: this.nextId(), text, askedAt: since, isAnswered: false };
    this.send();
  }

  private onAnswer({ queryId, result }: SuggestStreamResponse): void {
    const { present } = this;
    if (result === undefined || present?.id !== queryId || present.isAnswered) return;
    this.present = { ...present, isAnswered: true };
    const { text, askedAt } = present;
    this.hopes.onAnswer({ query: text, result, latencyMs: performance.now() - askedAt });
  }
}
