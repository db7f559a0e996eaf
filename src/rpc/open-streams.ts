import { networkOf } from './entry/arrival';
import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import { HoldfastError } from '../base/errors';
import { statusOf } from './call-errors';
import { arrivalOf, peerOf } from './entry/grpc-js';

/** Ends one stream early. The error becomes the status of the stream. */
type EndStream = (error: HoldfastError) => void;

const UNSHARED = { of: 'connection', limit: Infinity } as const;

/** The open streams of one kind on this server. Limits their number, and ends all streams when the server drains. */
export class OpenStreams {
  private readonly open = new Set<EndStream>();
  private readonly countOf = new Map<object | string, number>();
  private draining = false;

  constructor(
    private readonly limit: number,
    /** The plural noun in the error text, e.g. `imports`. */
    private readonly kind: string,
    /** How many of the streams one connection or one address may have. Default: any number. */
    private readonly share: { readonly of: 'connection' | 'address'; readonly limit: number } = UNSHARED,
  ) {}

  /** Adds a stream, or throws QUOTA_EXCEEDED or DRAINING. The returned function removes the stream. */
  enter(end: EndStream, connection?: object): () => void {
    if (this.draining) throw stopping();
    const owner = connection && this.ownerOf(connection);
    const count = (owner === undefined ? undefined : this.countOf.get(owner)) ?? 0;
    if (count >= this.share.limit) {
      throw tooMany(
        `this ${this.share.of} already has ${count} open ${this.kind}; end some of them first`,
        count,
      );
    }
    if (this.open.size >= this.limit) {
      throw tooMany(
        `this server already has ${this.limit} open ${this.kind}; retry later or on another server`,
        this.limit,
      );
    }
    this.open.add(end);
    this.add(owner, 1);
    return () => {
      if (this.open.delete(end)) this.add(owner, -1);
    };
  }

  private ownerOf(connection: object): object | string {
    const { address } = peerOf(connection);
    return this.share.of === 'connection' || address === '' ? connection : networkOf(address);
  }

  private add(owner: object | string | undefined, change: number): void {
    if (owner === undefined) return;
    const count = (this.countOf.get(owner) ?? 0) + change;
    if (count > 0) this.countOf.set(owner, count);
    else this.countOf.delete(owner);
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
    const leave = streams.enter(() => undefined, arrivalOf(stream).connection);
    // grpc-js emits 'cancelled' after every call.
    stream.once('cancelled', leave);
    return true;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    stream.emit('error', statusOf(error));
    return false;
  }
}
