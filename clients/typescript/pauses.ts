import { NUMBERS } from './numbers';

const { firstBackoffMs, longestBackoffMs, shortestPauseMs, attachShare } = NUMBERS.retry;
const { longestPauseAfterBreakMs, pauseAfterBreakIsDeadlineDividedBy } = NUMBERS.session;

/** The times until the next attempt (ms), with full jitter so that thousands of clients do not come at once. */

/**
 * The pause before the next session. Leaves a part of the time to the nearest deadline for the attach.
 *
 * @param failures the number of sessions in a row that had no first response
 * @param nearestDeadlineMs the time to the nearest deadline of a held lease; Infinity without a lease
 * @param advisedMs the delay that the server advises
 */
export function pauseBeforeSession(
  failures: number,
  nearestDeadlineMs: number,
  advisedMs: number | undefined,
  random = Math.random(),
): number {
  const longest = failures === 0 ? longestPauseAfterBreakMs : backoff(failures);
  const limit = Math.min(longest, nearestDeadlineMs / pauseAfterBreakIsDeadlineDividedBy);
  const advised = Math.min(advisedMs ?? 0, nearestDeadlineMs * attachShare, longestBackoffMs);
  return Math.max(shortestPauseMs, advised, random * limit);
}

/**
 * The pause before a command or a call is repeated.
 *
 * @param attempts the number of failed attempts in a row
 * @param advisedMs the delay that the server advises
 */
export function pauseBeforeRepeat(
  attempts: number,
  advisedMs: number | undefined,
  random = Math.random(),
): number {
  const pauseMs = random * backoff(attempts);
  return Math.max(shortestPauseMs, Math.min(advisedMs ?? 0, longestBackoffMs), pauseMs);
}

/**
 * The pause before an attach is repeated. Ends before the deadline of the lease, whatever the server advises.
 *
 * @param deadlineMs the time to the deadline of the lease
 */
export function pauseBeforeAttach(
  attempts: number,
  advisedMs: number | undefined,
  deadlineMs: number,
  random = Math.random(),
): number {
  const pauseMs = pauseBeforeRepeat(attempts, advisedMs, random);
  return Math.max(shortestPauseMs, Math.min(pauseMs, deadlineMs * attachShare));
}

function backoff(failures: number): number {
  return Math.min(longestBackoffMs, firstBackoffMs * 2 ** Math.min(failures, 10));
}
