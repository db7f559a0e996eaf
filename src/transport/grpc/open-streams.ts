import { HoldfastError } from '../../engine/errors';

/** Ends one stream early. The error becomes the status of the stream. */
type EndStream = (error: HoldfastError) => void;

/** The open streams of one kind on this server. Limits their number, and ends all streams when the server drains. */
export class OpenStreams {
  private readonly open = new Set<EndStream>();
  private draining = false;

  constructor(
    private readonly limit: number,
    /** The plural noun in the error text, e.g. `imports`. */
    private readonly kind: string,
  ) {}

  /** Adds a stream, or throws QUOTA_EXCEEDED or DRAINING. The returned function removes the stream. */
  enter(end: EndStream): () => void {
    if (this.draining) throw stopping();
    if (this.open.size >= this.limit) {
      throw new HoldfastError(
        'QUOTA_EXCEEDED',
        `this server already has ${this.limit} open ${this.kind}; retry later or on another server`,
        { metadata: { limit: String(this.limit) } },
      );
    }
    this.open.add(end);
    return () => this.open.delete(end);
  }

  /** Ends all streams with DRAINING, and refuses new streams. */
  drain(): void {
    this.draining = true;
    for (const end of this.open) end(stopping());
  }
}

function stopping(): HoldfastError {
  return new HoldfastError('DRAINING', 'this server is stopping; open the stream again on another server');
}
