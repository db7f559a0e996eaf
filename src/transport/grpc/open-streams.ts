import { HoldfastError } from '../../engine/errors';

/** Ends one stream early, with that as its status. */
type EndStream = (error: HoldfastError) => void;

/** The streams of one kind that this server has open: so many at most, and all of them end when it drains. */
export class OpenStreams {
  private readonly open = new Set<EndStream>();
  private draining = false;

  constructor(
    private readonly limit: number,
    /** What they are, for the caller who has to do without one. */
    private readonly what: string,
  ) {}

  /** Counts a stream in, or throws what to refuse it with. The answer counts it out again. */
  enter(end: EndStream): () => void {
    if (this.draining) throw stopping();
    if (this.open.size >= this.limit) {
      throw new HoldfastError(
        'QUOTA_EXCEEDED',
        `this server has ${this.limit} ${this.what} open already; try again later, or at another server`,
        { metadata: { limit: String(this.limit) } },
      );
    }
    this.open.add(end);
    return () => this.open.delete(end);
  }

  /** From here on there are none. */
  drain(): void {
    this.draining = true;
    for (const end of this.open) end(stopping());
  }
}

function stopping(): HoldfastError {
  return new HoldfastError('DRAINING', 'this server is stopping; open the stream again at another one');
}
