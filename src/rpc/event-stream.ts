import type { ServerWritableStream } from '@grpc/grpc-js';

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
