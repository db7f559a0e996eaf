import { NUMBERS } from './numbers';

const { firstBackoffMs, longestBackoffMs, shortestPauseMs } = NUMBERS.retry;
const { longestPauseAfterBreakMs, pauseAfterBreakIsDeadlineDividedBy } = NUMBERS.session;

/** The times until the next attempt (ms), with full jitter so that thousands of clients do not come at once. */

/**
 * The pause before the next session.
 *
 * @param failures the number of sessions in a row that had no first response
 * @param nearestDeadlineMs the time to the nearest deadline of a held lease; Infinity without a lease
 */
export function pauseBeforeSession(
  failures: number,
  nearestDeadlineMs: number,
  random = Math.random(),
): number {
  const longest = failures === 0 ? longestPauseAfterBreakMs : backoff(failures);
  const limit = Math.min(longest, nearestDeadlineMs / pauseAfterBreakIsDeadlineDividedBy);
  return Math.max(shortestPauseMs, random * limit);
}

/**
 * The pause before a command or a call is repeated.
 *
 * @param attempts the number of failed attempts in a row
 * @param advisedMs the delay that the server advises
 * @param longestMs the longest random pause
 */
export function pauseBeforeRepeat(
  attempts: number,
  advisedMs: number | undefined,
  random = Math.random(),
  longestMs = Infinity,
): number {
  const pauseMs = random * Math.min(backoff(attempts), longestMs);
  return Math.max(shortestPauseMs, Math.min(advisedMs ?? 0, longestBackoffMs), pauseMs);
}

/** The longest random pause before an attach, so that several attempts fit in the time to the deadline of the lease. */
export function longestPauseBeforeAttach(deadlineMs: number): number {
  return Math.max(2 * firstBackoffMs, deadlineMs / 4);
}

function backoff(failures: number): number {
  return Math.min(longestBackoffMs, firstBackoffMs * 2 ** Math.min(failures, 10));
}
