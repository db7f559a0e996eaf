import type { ServerWritableStream } from '@grpc/grpc-js';

export interface EventShape<Event, Message> {
  toMessage(event: Event): Message;
  /**
   * Events of one slot make each other stale: of those that have to wait only the newest is sent. Undefined:
   * the event is always sent.
   */
  slot(event: Event): string | undefined;
}

/**
 * Events on their way to one client, in order. A client that reads slowly costs a bounded amount of memory:
 * while the stream is full, what waits is at most one event of each slot beside those that must not be lost.
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
    // After a cancel 'drain' never comes. It follows every end, so it may find nothing to do.
    stream.once('cancelled', () => this.close());
  }

  /** Never blocks, never throws for a client that is gone. */
  send(event: Event): void {
    if (this.closed || this.stream.cancelled) return;
    if (this.full) this.keep(event);
    else this.write(event);
  }

  /** Hands over all that still waits; the status of the call, which comes next, stays behind it. */
  finish(): void {
    if (!this.closed) for (const event of this.waiting) this.write(event);
    this.close();
  }

  private keep(event: Event): void {
    const slot = this.shape.slot(event);
    if (slot !== undefined) {
      const stale = this.waiting.findIndex((older) => this.shape.slot(older) === slot);
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
