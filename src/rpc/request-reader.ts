import type { ServerReadableStream } from '@grpc/grpc-js';
import type { HoldfastError } from '../base/errors';
import { setReadAhead } from './entry/grpc-internals';

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
