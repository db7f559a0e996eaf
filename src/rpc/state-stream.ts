import type { ServerWritableStream } from '@grpc/grpc-js';

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
