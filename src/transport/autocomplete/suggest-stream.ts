/** Where queries are looked up, and where the answers go. */
export interface QueryPort<Query, Answer> {
  /** What is wrong with a query is an answer too; if this rejects, the stream ends with it. */
  ask(query: Query): Promise<Answer>;
  /** False: the client has not read what it has been sent; `resume` says when it has. */
  write(answer: Answer): boolean;
}

/**
 * One stream of queries, of which only the newest matters. At most one is being looked up and one waits; what a
 * newer one came after is not looked up, or not answered. To a client that does not read nothing is sent, and nothing
 * is looked up for it.
 */
export class QueryStream<Query, Answer> {
  /** Resolves after the last answer of a stream that was finished, or when it is cut short; rejects if that has a reason. */
  readonly ended: Promise<void>;
  private settle: (error: unknown) => void = () => undefined;
  private newest: { readonly query: Query } | undefined;
  private asking = false;
  private full = false;
  private finishing = false;
  private over = false;

  constructor(private readonly port: QueryPort<Query, Answer>) {
    this.ended = new Promise((resolve, reject) => {
      this.settle = (error) => {
        if (error === undefined) resolve();
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- whatever it was cut short with
        else reject(error);
      };
    });
  }

  /** Supersedes all that were not answered yet. */
  query(query: Query): void {
    if (this.over) return;
    this.newest = { query };
    this.advance();
  }

  /** The client reads again. */
  resume(): void {
    this.full = false;
    this.advance();
  }

  /** No query will follow: the last one is answered, and that is the end. */
  finish(): void {
    this.finishing = true;
    this.advance();
  }

  /** Ends it where it is; nothing more is answered. */
  cut(error?: unknown): void {
    this.over = true;
    this.newest = undefined;
    this.settle(error);
  }

  private advance(): void {
    if (this.over || this.asking) return;
    if (this.newest === undefined) {
      if (this.finishing) this.cut();
    } else if (!this.full) {
      const { query } = this.newest;
      this.newest = undefined;
      void this.answer(query);
    }
  }

  private async answer(query: Query): Promise<void> {
    this.asking = true;
    try {
      const answer = await this.port.ask(query);
      if (!this.superseded) this.full = !this.port.write(answer);
    } catch (error) {
      this.cut(error);
    }
    this.asking = false;
    this.advance();
  }

  private get superseded(): boolean {
    return this.over || this.newest !== undefined;
  }
}
