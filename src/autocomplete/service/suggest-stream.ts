export interface QueryPort<Query, Answer> {
  /** Resolves to the answer, also for an invalid query. A rejection ends the stream with the error. */
  lookUp(query: Query): Promise<Answer>;
  /** False: the client's buffer is full. Call `resume` when the client reads again. */
  write(answer: Answer): boolean;
}

/**
 * Answers the newest query of a stream. At most one query is in lookup and one query waits. A newer query replaces the
 * waiting query, and discards the answer of the query in lookup. While the client does not read, no lookup starts.
 */
export class QueryStream<Query, Answer> {
  /** Resolves after the last answer, or after `abort()`. Rejects with a lookup's error or with the error of `abort`. */
  readonly ended: Promise<void>;
  private settle: (error: unknown) => void = () => undefined;
  private newest: { readonly query: Query } | undefined;
  private lookingUp = false;
  private full = false;
  private finishing = false;
  private aborted = false;

  constructor(private readonly port: QueryPort<Query, Answer>) {
    this.ended = new Promise((resolve, reject) => {
      this.settle = (error) => {
        if (error === undefined) resolve();
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- an unchanged error of any type
        else reject(error);
      };
    });
  }

  /** Adds a query. The new query supersedes every query without an answer. */
  push(query: Query): void {
    if (this.aborted) return;
    this.newest = { query };
    this.advance();
  }

  /** The caller must call `resume` when the client reads again. */
  resume(): void {
    this.full = false;
    this.advance();
  }

  /** Ends the stream after the answer to the last query. */
  finish(): void {
    this.finishing = true;
    this.advance();
  }

  /** Ends the stream immediately, without further answers. */
  abort(error?: unknown): void {
    this.aborted = true;
    this.newest = undefined;
    this.settle(error);
  }

  private advance(): void {
    if (this.aborted || this.lookingUp) return;
    if (this.newest === undefined) {
      if (this.finishing) this.abort();
    } else if (!this.full) {
      const { query } = this.newest;
      this.newest = undefined;
      void this.answer(query);
    }
  }

  private async answer(query: Query): Promise<void> {
    this.lookingUp = true;
    try {
      const answer = await this.port.lookUp(query);
      if (!this.superseded) this.full = !this.port.write(answer);
    } catch (error) {
      this.abort(error);
    }
    this.lookingUp = false;
    this.advance();
  }

  private get superseded(): boolean {
    return this.aborted || this.newest !== undefined;
  }
}
