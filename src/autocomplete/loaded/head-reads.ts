import type { Clock } from '../../base/clock';
import type { EntryStore, Head, Missing } from '../entry-store';

/** The state of a dictionary, read after the query that asked for it. */
export interface HeadRead {
  readonly head: Head | Missing;
  /** The head is not older than this time (ms, monotonic clock). */
  readonly notBefore: number;
}

/**
 * Reads the heads of dictionaries for queries. All queries of one turn of the event loop share the read of their
 * dictionary, which is sent at the end of the turn. So each query gets a head that is not older than the query.
 */
export class HeadReads {
  private readonly waiting = new Map<string, Promise<HeadRead>>();

  constructor(
    private readonly store: Pick<EntryStore, 'head'>,
    private readonly clock: Clock,
  ) {}

  /** Rejects with a `StoreFailure`. */
  read(name: string): Promise<HeadRead> {
    let read = this.waiting.get(name);
    if (read === undefined) {
      read = this.readAtEndOfTurn(name);
      this.waiting.set(name, read);
    }
    return read;
  }

  private async readAtEndOfTurn(name: string): Promise<HeadRead> {
    await new Promise(setImmediate);
    this.waiting.delete(name);
    const notBefore = this.clock.now();
    return { head: await this.store.head(name), notBefore };
  }
}
