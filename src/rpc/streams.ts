import type { ServerReadableStream, ServerWritableStream } from '@grpc/grpc-js';
import type { HoldfastError } from '../base/errors';
import { setReadAhead } from './entry/grpc-js';

export interface EventShape<Event, Message> {
  toMessage(event: Event): Message;
  /** A newer event replaces a waiting event with the same key. Undefined: the event is never replaced. */
  coalesceKey(event: Event): string | undefined;
}

/**
 * Sends events to one client, in order. A slow client costs little memory: while the stream's buffer is full, at most
 * one event waits for each coalesce key. Events without a key all wait.
 */
export class EventStream<Event, Message> {
  private readonly waiting: Event[] = [];
  private full = false;
  private closed = false;

  constructor(
    private readonly stream: ServerWritableStream<unknown, Message>,
    private readonly shape: EventShape<Event, Message>,
  ) {
    stream.on('drain', () => this.resume());
    // grpc-js emits 'cancelled' after every call. After a real cancellation 'drain' never comes.
    stream.once('cancelled', () => this.close());
  }

  /** Never blocks, and never throws when the client has disconnected. */
  send(event: Event): void {
    if (this.closed || this.stream.cancelled) return;
    if (this.full) this.keep(event);
    else this.write(event);
  }

  /** Writes all waiting events. Must be called before the status is sent. */
  finish(): void {
    if (!this.closed) for (const event of this.waiting) this.write(event);
    this.close();
  }

  private keep(event: Event): void {
    const key = this.shape.coalesceKey(event);
    if (key !== undefined) {
      const stale = this.waiting.findIndex((older) => this.shape.coalesceKey(older) === key);
      if (stale >= 0) this.waiting.splice(stale, 1);
    }
    this.waiting.push(event);
  }

  private write(event: Event): void {
    this.full = !this.stream.write(this.shape.toMessage(event));
  }

  private resume(): void {
    if (this.closed) return;
    this.full = false;
    while (!this.full) {
      const event = this.waiting.shift();
      if (event === undefined) return;
      this.write(event);
    }
  }

  private close(): void {
    this.closed = true;
    this.waiting.length = 0;
  }
}

/**
 * Sends the newest state of a thing to one client. A slow client costs little memory: while a message is not written, at
 * most one state waits, and a newer state replaces the waiting state.
 */
export class StateStream<State, Message> {
  private waiting: Message | undefined;
  private isWriting = false;
  private isClosed = false;

  constructor(
    private readonly stream: ServerWritableStream<unknown, Message>,
    private readonly toMessage: (state: State) => Message,
  ) {
    // After a cancellation, the callback of a write may never come.
    stream.once('cancelled', () => this.close());
  }

  /**
   * Never blocks, and never throws when the client has disconnected. Makes the message immediately, so that the
   * caller gets the error of a state that has no message.
   */
  send(state: State): void {
    if (this.isClosed || this.stream.cancelled) return;
    this.waiting = this.toMessage(state);
    if (!this.isWriting) this.write();
  }

  /** Writes the waiting state. Must be called before the status is sent. */
  finish(): void {
    if (!this.isClosed) this.write();
    this.close();
  }

  private write(): void {
    const message = this.waiting;
    if (message === undefined) return;
    this.waiting = undefined;
    this.isWriting = true;
    this.stream.write(message, () => {
      this.isWriting = false;
      this.write();
    });
  }

  private close(): void {
    this.isClosed = true;
    this.waiting = undefined;
  }
}

interface PendingRead<Message> {
  resolve(message: Message | undefined): void;
  reject(error: HoldfastError): void;
}

/**
 * Reads a client's stream one message at a time. Flow control blocks the client until `next` is called. At most one
 * `next` may be pending.
 */
export class RequestReader<Message> {
  private pending: PendingRead<Message> | undefined;
  private ended = false;
  private interruption: HoldfastError | undefined;

  constructor(private readonly stream: ServerReadableStream<Message, unknown>) {
    setReadAhead(stream, 1);
    stream.on('data', (message: Message) => {
      stream.pause();
      this.take()?.resolve(message);
    });
    stream.pause();
    stream.once('end', () => this.end());
    stream.once('cancelled', () => this.end());
  }

  /**
   * Resolves to undefined at the end of the stream. The stream of a killed client ends in the same way, so a protocol
   * needs an explicit last message to detect a killed client.
   */
  next(): Promise<Message | undefined> {
    if (this.interruption !== undefined) return Promise.reject(this.interruption);
    if (this.ended || this.stream.cancelled) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      this.pending = { resolve, reject };
      this.stream.resume();
    });
  }

  /** Rejects the pending `next` and every later `next` with this error. */
  interrupt(error: HoldfastError): void {
    this.interruption ??= error;
    this.take()?.reject(error);
  }

  private end(): void {
    this.ended = true;
    this.take()?.resolve(undefined);
  }

  private take(): PendingRead<Message> | undefined {
    const { pending } = this;
    this.pending = undefined;
    return pending;
  }
}
