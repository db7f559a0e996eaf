import { amountOf, NOTHING, plus } from './entry-amount';
import type { LocalWrites } from './local-writes';
import type { QuotaCheck } from './quota-check';
import type { StoredEntry } from '../suggestion';

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
