import { NOTHING, plus, minus, type EntryAmount } from './entry-amount';

/** What this server has written to the dictionaries of one owner. All entries count as new. */
export class LocalWrites {
  private inFlight = NOTHING;
  private ended = NOTHING;

  /** True: no write is in flight. */
  get isIdle(): boolean {
    return this.inFlight.entries === 0;
  }

  /** Begins a write. The caller must call the result once, at the end of the write. */
  begin(amount: EntryAmount): () => void {
    this.inFlight = plus(this.inFlight, amount);
    return () => {
      this.inFlight = minus(this.inFlight, amount);
      this.ended = plus(this.ended, amount);
    };
  }

  /** A place among the ended writes, for `since`. */
  mark(): EntryAmount {
    return this.ended;
  }

  /** The writes in flight, and the writes that have ended since the mark. */
  since(mark: EntryAmount): EntryAmount {
    return plus(this.inFlight, minus(this.ended, mark));
  }
}
