/**
 * How long this process may believe in a lease, on its own monotonic clock (`performance.now()`). The latest deadline
 * counts, a deadline that has passed stays passed, and a belief that has ended never returns.
 */
export class Belief {
  private until: number;
  private ended = false;

  constructor(deadline: number) {
    this.until = deadline;
  }

  get deadline(): number {
    return this.until;
  }

  /** Compares the clock, because a timer may be late. */
  isOver(now: number): boolean {
    if (now >= this.until) this.ended = true;
    return this.ended;
  }

  /** Takes the deadline of a renewal or an attach. Without effect if the belief is over. */
  confirm(deadline: number, now: number): void {
    if (!this.isOver(now)) this.until = Math.max(this.until, deadline);
  }

  end(): void {
    this.ended = true;
  }
}
