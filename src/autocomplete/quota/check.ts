import type { Clock } from '../../base/clock';
import { dictionaryText, entryQuotaExceeded, readOf } from '../autocomplete-errors';
import type { StoredEntry } from '../suggestion';
import { amountOf, type EntryAmount, type LocalWrites, NOTHING, plus, type Writer } from './amount';
import { type KeptUsage, MIN_PAUSE_MS } from './usage';

const QUOTAS = ['entries', 'bytes'] as const;

export interface QuotaCheckOptions {
  readonly writer: Writer;
  readonly dictionary: string;
  /** The dictionaries of the caller. */
  readonly own: KeptUsage;
  /** The dictionary belongs to another owner or to nobody: the dictionaries that count in addition. */
  readonly foreign?: KeptUsage | undefined;
  readonly clock: Clock;
}

/** Compares the writes of one caller to one dictionary with the quotas of the caller. */
export class QuotaCheck {
  private readonly parts: readonly KeptUsage[];

  constructor(private readonly options: QuotaCheckOptions) {
    const { own, foreign } = options;
    this.parts = foreign === undefined ? [own] : [own, foreign];
  }

  /**
   * Throws QUOTA_EXCEEDED if these entries do not fit, by sums that were read after the start of this call. Otherwise
   * begins a write among `writes`, and resolves to the function that ends the write.
   */
  admit(added: EntryAmount, writes?: LocalWrites): Promise<() => void> {
    return this.admitBy(({ oldestStart }) => oldestStart, added, writes);
  }

  /** As `admit`, but also accepts only by sums that are at most as old as the shortest pause. */
  admitNow(added: EntryAmount, writes?: LocalWrites): Promise<() => void> {
    const time = this.options.clock.now() - MIN_PAUSE_MS;
    return this.admitBy(() => time, added, writes);
  }

  private async admitBy(
    after: (part: KeptUsage) => number,
    added: EntryAmount,
    writes: LocalWrites | undefined,
  ): Promise<() => void> {
    const { writer, dictionary, own, foreign, clock } = this.options;
    const startedAt = clock.now();
    await this.refresh(after);
    if (this.exceeded(added) !== undefined) await this.refresh(() => startedAt);
    const quota = this.exceeded(added);
    if (quota !== undefined) {
      throw entryQuotaExceeded(writer, quota, own.amount, added, foreign && dictionary);
    }
    return writes?.begin(added) ?? (() => undefined);
  }

  private async refresh(after: (part: KeptUsage) => number): Promise<void> {
    const work = Promise.all(this.parts.map((part) => part.refresh(after(part))));
    await readOf(work, dictionaryText(this.options.dictionary));
  }

  private exceeded(added: EntryAmount): (typeof QUOTAS)[number] | undefined {
    const sum = this.parts.map(({ amount }) => amount).reduce(plus, plus(NOTHING, added));
    return QUOTAS.find((quota) => sum[quota] > (this.options.writer.quotas[quota] ?? Infinity));
  }
}

/** The quota of one import, which replaces all entries of its dictionary. So the present entries do not count. */
export class ImportQuota {
  private received = NOTHING;

  constructor(
    private readonly check: QuotaCheck,
    private readonly writes: LocalWrites,
  ) {}

  /** Throws if all batches so far and this batch do not fit. */
  async add(entries: readonly StoredEntry[]): Promise<void> {
    const received = plus(this.received, amountOf(entries));
    await this.check.admit(received);
    this.received = received;
  }

  /** Commits if the import still fits. Other imports of the caller may have been committed since the last batch. */
  async commit<T>(commit: () => Promise<T>): Promise<T> {
    const end = await this.check.admitNow(this.received, this.writes);
    return commit().finally(end);
  }
}
