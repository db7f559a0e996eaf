import type { ReceivedRecord, Records } from '../server/records';
import { mismatch, type Remembered } from './matching';

/** What a case expects the servers to receive. */
export class ServerExpectations {
  private readonly taken = new Set<ReceivedRecord>();

  constructor(
    private readonly records: Records,
    private readonly remembered: Remembered,
  ) {}

  /** The first record that matches and that no earlier step has taken. */
  take(expected: unknown, server: unknown): ReceivedRecord | undefined {
    const found = this.records.all.find(
      (one) =>
        !this.taken.has(one) &&
        (server === undefined || one.server === server) &&
        mismatch(expected, one, this.remembered) === undefined,
    );
    if (found) this.taken.add(found);
    return found;
  }

  /** Throws if more records since the given time match. */
  atMost(count: number, expected: unknown, server: unknown, since: number): void {
    const found = this.records.all.filter(
      (one) =>
        one.at >= since &&
        (server === undefined || one.server === server) &&
        mismatch(expected, one, new Map(this.remembered)) === undefined,
    );
    const last = found.at(-1);
    if (found.length > count && last) {
      throw new Error(`the servers received ${found.length}, the last of them ${JSON.stringify(last)}`);
    }
  }
}
