const LONGEST_AFTER_BREAK_MS = 1000;
const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 5000;
/** No loop without a pause, although a deadline is near. */
const SHORTEST_MS = 5;

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
  const longest = failures === 0 ? LONGEST_AFTER_BREAK_MS : backoff(failures);
  return Math.max(SHORTEST_MS, random * Math.min(longest, nearestDeadlineMs / 10));
}

/**
 * The pause before a command is repeated.
 *
 * @param attempts the number of failed attempts in a row
 * @param advisedMs the delay that the server advises
 */
export function pauseBeforeCommand(
  attempts: number,
  advisedMs: number | undefined,
  random = Math.random(),
): number {
  return Math.max(SHORTEST_MS, Math.min(advisedMs ?? 0, LONGEST_BACKOFF_MS), random * backoff(attempts));
}

function backoff(failures: number): number {
  return Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(failures, 10));
}
