import type { ServerReadableStream } from '@grpc/grpc-js';
import type { HoldfastError } from '../../engine/errors';
import { readAhead } from './grpc-internals';

interface Reader<Message> {
  resolve(message: Message | undefined): void;
  reject(error: HoldfastError): void;
}

/**
 * The messages that a client streams, one at a time: until the next one is asked for it is not read, and the client
 * has to wait. One reader, who asks for one after the other.
 */
export class Incoming<Message> {
  private reader: Reader<Message> | undefined;
  private ended = false;
  private interruption: HoldfastError | undefined;

  constructor(private readonly stream: ServerReadableStream<Message, unknown>) {
    readAhead(stream, 1);
    stream.on('data', (message: Message) => {
      stream.pause();
      this.take()?.resolve(message);
    });
    stream.pause();
    stream.once('end', () => this.end());
    stream.once('cancelled', () => this.end());
  }

  /**
   * Undefined: there are no more. That is all there is to know: where the client was killed its stream ends as if it
   * had nothing more to say, so whoever must be sure that all has come needs a message that says so.
   */
  next(): Promise<Message | undefined> {
    if (this.interruption !== undefined) return Promise.reject(this.interruption);
    if (this.ended || this.stream.cancelled) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      this.reader = { resolve, reject };
      this.stream.resume();
    });
  }

  /** Whoever waits for a message, or asks for one later, gets this error instead. */
  interrupt(error: HoldfastError): void {
    this.interruption ??= error;
    this.take()?.reject(error);
  }

  private end(): void {
    this.ended = true;
    this.take()?.resolve(undefined);
  }

  private take(): Reader<Message> | undefined {
    const { reader } = this;
    this.reader = undefined;
    return reader;
  }
}
