import type { LimitAnswered, LimitAsked, Micros } from '../history';

interface Change {
  readonly limit: number;
  readonly from: Micros;
  /** From here on the change is certainly in force or replaced by a later one. */
  readonly done: Micros;
}

/** A loss of data: the writes of `reachUs` before `from` may be gone. */
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

  /** Changes from before the loss may be undone: the limit before them may be in force again. */
  addLoss(loss: Loss): void {
    this.losses.push(loss);
  }

  /** Infinity before the first limit is set: no number of permits is too many then. */
  highest(at: Micros): number {
    const limits = this.possible(at);
    return limits.length === 0 ? Infinity : Math.max(...limits);
  }

  /** 0 before the first limit is set: no permit is known to be free then. */
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
