import type { Clock } from '../../base/clock';
import { plus, type EntryAmount } from './entry-amount';
import type { LocalWrites } from './local-writes';
import type { ReadTurns } from './read-turns';

/** How long a sum is used. The sum does not have the writes of other servers during this time. */
const KEEP_MS = 5000;

interface Reading {
  readonly amount: EntryAmount;
  readonly startedAt: number;
  /** The place among the writes of this server at the start of the read. */
  readonly mark: EntryAmount;
}

/**
 * A sum of entries that the server keeps, because a read of the sum costs the store time. Calls that need a new sum
 * share a read.
 */
export class KeptUsage {
  private last: Reading | undefined;
  private inProgress: Promise<void> | undefined;

  constructor(
    private readonly read: () => Promise<EntryAmount>,
    private readonly writes: LocalWrites,
    private readonly turns: ReadTurns,
    private readonly clock: Clock,
  ) {}

  /** A sum is too old if its read began at this time or earlier. */
  get oldestStart(): number {
    return this.clock.now() - Math.max(KEEP_MS, this.turns.pauseMs);
  }

  /** The last sum, and all that this server has written since. Only after `refresh`. */
  get amount(): EntryAmount {
    if (this.last === undefined) throw new Error('the sum was not read');
    return plus(this.last.amount, this.writes.since(this.last.mark));
  }

  /** Resolves when the sum is of a read that began after this time. Rejects with a `StoreFailure`. */
  async refresh(time: number): Promise<void> {
    while (this.last === undefined || this.last.startedAt <= time) {
      this.inProgress ??= this.readNow().finally(() => (this.inProgress = undefined));
      await this.inProgress;
    }
  }

  private readNow(): Promise<void> {
    return this.turns.run(async () => {
      const startedAt = this.clock.now();
      const mark = this.writes.mark();
      this.last = { amount: await this.read(), startedAt, mark };
    });
  }
}
