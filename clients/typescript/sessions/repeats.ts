import { status } from '@grpc/grpc-js';
import type { HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';
import { pauseBeforeRepeat } from '../pauses';
import type { OpenSession } from './open-session';

/** The command may be repeated with the same id. After every other reason a repetition does not help. */
const REPEATED: ReadonlySet<string> = new Set(NUMBERS.reasons.commandIsRepeated);

export interface Repeatable {
  /** The number of failed attempts in a row. */
  attempts: number;
  /** Why the last attempt failed. */
  lastError?: HoldfastError | undefined;
}

/** The timers of all commands that are repeated after a pause. */
export class Repeats {
  private readonly timers = new Set<NodeJS.Timeout>();

  /**
   * False: a repetition does not help. A session that leaves gets no repetition, because the next one sends all.
   *
   * @param longestMs the longest pause
   */
  repeat(
    task: Repeatable,
    error: HoldfastError,
    session: OpenSession,
    again: () => unknown,
    longestMs = Infinity,
  ): boolean {
    if (!isRepeated(error)) return false;
    task.attempts += 1;
    task.lastError = error;
    if (session.isLeaving && error.reason === 'DRAINING') return true;
    this.later(Math.min(longestMs, pauseBeforeRepeat(task.attempts, error.retryAfterMs)), again);
    return true;
  }

  later(ms: number, run: () => unknown): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, ms);
    this.timers.add(timer);
  }

  clear(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }
}

/** An unknown or missing reason is treated as its code says. */
function isRepeated({ reason, code }: HoldfastError): boolean {
  return REPEATED.has(reason) || code === status.UNAVAILABLE;
}
