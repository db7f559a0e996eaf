import { NUMBERS } from '../numbers';

const { heartbeatIntervalMs, heartbeatTimeoutMs, heartbeatsPerTtl, silenceIsTtlDividedBy, firstAnswerMs } =
  NUMBERS.session;

/** When the next heartbeat is due, and when a silent server is left. All times are milliseconds. */
export class HeartbeatPlan {
  private intervalMs = heartbeatIntervalMs;
  private judgeFrom = -Infinity;

  /** @param timeoutMs the longest wait for the first response */
  constructor(private timeoutMs = firstAnswerMs) {}

  /** Takes the values of the first response. */
  started(timeoutMs = heartbeatTimeoutMs): void {
    this.timeoutMs = timeoutMs;
  }

  /** Takes the interval of a response. Undefined: as before. */
  interval(ms: number | undefined): void {
    if (ms !== undefined && ms > 0) this.intervalMs = ms;
  }

  /** The time between two heartbeats. `shortestTtlMs` is Infinity if the session has no lease. */
  periodMs(shortestTtlMs: number): number {
    return Math.min(this.intervalMs, shortestTtlMs / heartbeatsPerTtl);
  }

  /** The longest time for which a heartbeat may stay without an answer. At least a quarter of the ttl remains for the attach. */
  patienceMs(shortestTtlMs: number): number {
    return Math.min(this.timeoutMs, shortestTtlMs / silenceIsTtlDividedBy);
  }

  /** The next time at which a heartbeat or a judgement is due. */
  wakeAt(lastSentAt: number, unansweredSince: number | undefined, shortestTtlMs: number): number {
    const heartbeatAt = lastSentAt + this.periodMs(shortestTtlMs);
    return Math.min(heartbeatAt, this.judgeAt(unansweredSince, shortestTtlMs));
  }

  /**
   * Call when the timer fires. If the timer is more than one period late, this process was itself stopped, and
   * answers may lie unread. Then the server is judged only after one more period.
   */
  woke(plannedAt: number, now: number, shortestTtlMs: number): void {
    const periodMs = this.periodMs(shortestTtlMs);
    if (now - plannedAt > periodMs) this.judgeFrom = now + periodMs;
  }

  isSilent(now: number, unansweredSince: number | undefined, shortestTtlMs: number): boolean {
    return now >= this.judgeAt(unansweredSince, shortestTtlMs);
  }

  private judgeAt(unansweredSince: number | undefined, shortestTtlMs: number): number {
    if (unansweredSince === undefined) return Infinity;
    return Math.max(unansweredSince + this.patienceMs(shortestTtlMs), this.judgeFrom);
  }
}
