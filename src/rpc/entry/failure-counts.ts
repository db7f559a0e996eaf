import type { Reason } from '../../base/errors';
import { ERROR_TABLE } from '../error-table';

const REASONS = Object.keys(ERROR_TABLE) as Reason[];

/** Counts failures by reason. Each reason has a count from the start: Prometheus sees no rise in a first sample. */
export class FailureCounts {
  private readonly counts = new Map<Reason, number>(REASONS.map((reason) => [reason, 0]));

  add(reason: Reason): void {
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
  }

  all(): Iterable<readonly [Reason, number]> {
    return this.counts;
  }
}
