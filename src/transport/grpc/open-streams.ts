import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import { HoldfastError } from '../../engine/errors';
import { statusOf } from './errors';
import { connectionOf } from './grpc-internals';

/** Ends one stream early. The error becomes the status of the stream. */
type EndStream = (error: HoldfastError) => void;

/** The open streams of one kind on this server. Limits their number, and ends all streams when the server drains. */
export class OpenStreams {
  private readonly open = new Set<EndStream>();
  private readonly countOf = new WeakMap<object, number>();
  private draining = false;

  constructor(
    private readonly limit: number,
    /** The plural noun in the error text, e.g. `imports`. */
    private readonly kind: string,
    private readonly limitOfConnection = Infinity,
  ) {}

  /** Adds a stream, or throws QUOTA_EXCEEDED or DRAINING. The returned function removes the stream. */
  enter(end: EndStream, connection: object = {}): () => void {
    if (this.draining) throw stopping();
    const count = this.countOf.get(connection) ?? 0;
    if (count >= this.limitOfConnection) {
      throw tooMany(`this connection already has ${count} open ${this.kind}; end some of them first`, count);
    }
    if (this.open.size >= this.limit) {
      throw tooMany(
        `this server already has ${this.limit} open ${this.kind}; retry later or on another server`,
        this.limit,
      );
    }
    this.open.add(end);
    this.countOf.set(connection, count + 1);
    return () => {
      if (this.open.delete(end)) this.countOf.set(connection, (this.countOf.get(connection) ?? 1) - 1);
    };
  }

  /** Ends all streams with DRAINING, and refuses new streams. */
  drain(): void {
    this.draining = true;
    for (const end of this.open) end(stopping());
  }
}

/** Does a part of a stream's work while the stream counts as open. */
export async function within<Result>(
  streams: OpenStreams,
  end: EndStream,
  work: () => Promise<Result>,
): Promise<Result> {
  const leave = streams.enter(end);
  try {
    return await work();
  } finally {
    leave();
  }
}

function tooMany(text: string, limit: number): HoldfastError {
  return new HoldfastError('QUOTA_EXCEEDED', text, { metadata: { limit: String(limit) } });
}

function stopping(): HoldfastError {
  return new HoldfastError('DRAINING', 'this server is stopping; open the stream again on another server');
}

/** Counts a stream that needs no credential until its end. False: there are too many, and the stream has ended. */
export function admit(
  streams: OpenStreams,
  stream: ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>,
): boolean {
  try {
    const leave = streams.enter(() => undefined, connectionOf(stream));
    // grpc-js emits 'cancelled' after every call.
    stream.once('cancelled', leave);
    return true;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    stream.emit('error', statusOf(error));
    return false;
  }
}
