import type { LimitAnswered, LimitAsked, Micros } from '../history';

interface Change {
  readonly limit: number;
  readonly from: Micros;
  /** The instant from which the change is certainly in force or replaced by a later change. */
  readonly done: Micros;
}

/** A loss of data. The writes in the `reachUs` before `from` may be lost. */
interface Loss {
  readonly from: Micros;
  readonly to: Micros;
  readonly reachUs: Micros;
}

/**
 * The limits of a semaphore over time. A change takes effect between its request and its answer, so at any instant
 * there is a highest and a lowest limit that may be in force.
 */
export class LimitHistory {
  private readonly changes: Change[] = [];
  private readonly losses: Loss[] = [];

  static constant(limit: number): LimitHistory {
    const history = new LimitHistory();
    history.changes.push({ limit, from: -Infinity, done: -Infinity });
    return history;
  }

  add(asked: LimitAsked, answered: LimitAnswered | undefined): void {
    if (answered !== undefined && !answered.done) return;
    this.changes.push({ limit: asked.limit, from: asked.at, done: answered?.at ?? Infinity });
  }

  /** The loss may undo earlier changes, so that the limit before these changes may be in force again. */
  addLoss(loss: Loss): void {
    this.losses.push(loss);
  }

  /** The highest limit that may be in force. Infinity before the first limit is set. */
  highest(at: Micros): number {
    const limits = this.possible(at);
    return limits.length === 0 ? Infinity : Math.max(...limits);
  }

  /** The lowest limit that may be in force. 0 before the first limit is set. */
  lowest(at: Micros): number {
    const limits = this.possible(at);
    return limits.length === 0 ? 0 : Math.min(...limits);
  }

  /** The instants at which `highest` or `lowest` may change. */
  steps(): Micros[] {
    const instants = this.changes.flatMap((change) => [change.from, change.done]);
    return [...instants, ...this.losses.map(({ from }) => from)].filter(Number.isFinite);
  }

  private possible(at: Micros): number[] {
    return this.changes
      .filter((change) => change.from <= at && !this.replaced(change, at))
      .map((change) => change.limit);
  }

  private replaced(change: Change, at: Micros): boolean {
    return this.changes.some(
      (later) =>
        later !== change && later.from >= change.done && later.done < at && !this.isForgotten(later, at),
    );
  }

  private isForgotten({ from, done }: Change, at: Micros): boolean {
    return this.losses.some((loss) => loss.from <= at && from <= loss.to && done >= loss.from - loss.reachUs);
  }
}
