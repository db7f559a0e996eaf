package dev.holdfast.client;

/** When the next heartbeat is due, and when a silent server is left. All times are nanoseconds. */
final class HeartbeatPlan {
  private long interval = Durations.millis(Numbers.Session.HEARTBEAT_INTERVAL_MS);
  private long timeout;
  private long judgeFrom = -Durations.NEVER;

  /**
   * @param firstAnswer the longest wait for the first response
   */
  HeartbeatPlan(long firstAnswer) {
    this.timeout = firstAnswer;
  }

  /**
   * The longest wait for the first response of one server, if connect has this time left for so
   * many addresses.
   */
  static long shareOfConnect(long left, int addresses) {
    long share =
        Math.max(Durations.millis(Numbers.Session.SHORTEST_FIRST_ANSWER_MS), left / addresses);
    return Math.min(Durations.millis(Numbers.Session.FIRST_ANSWER_MS), share);
  }

  /** Takes the timeout of the first response. 0: the response has none. */
  void started(long timeoutNanos) {
    timeout =
        timeoutNanos > 0 ? timeoutNanos : Durations.millis(Numbers.Session.HEARTBEAT_TIMEOUT_MS);
  }

  /** Takes the interval of a response. 0: as before. */
  void interval(long nanos) {
    if (nanos > 0) {
      interval = nanos;
    }
  }

  /**
   * The time between two heartbeats.
   *
   * @param shortestTtl NEVER if the process has no lease
   */
  long period(long shortestTtl) {
    return Math.max(1, Math.min(interval, shortestTtl / Numbers.Session.HEARTBEATS_PER_TTL));
  }

  /** The next time at which a heartbeat or a judgement is due. */
  long wakeAt(long lastSentAt, long unansweredSince, long shortestTtl) {
    long heartbeatAt = Durations.plus(lastSentAt, period(shortestTtl));
    return Math.min(heartbeatAt, judgeAt(unansweredSince, shortestTtl));
  }

  /**
   * Call when the timer fires. If the timer is more than one period late, this process was itself
   * stopped, and answers may lie unread. Then the server is judged only after one more period.
   * Returns whether the process was stopped.
   */
  boolean woke(long plannedAt, long now, long shortestTtl) {
    long period = period(shortestTtl);
    if (now - plannedAt <= period) {
      return false;
    }
    judgeFrom = Durations.plus(now, period);
    return true;
  }

  /** Whether the server has left a heartbeat unanswered for too long. */
  boolean isSilent(long now, long unansweredSince, long shortestTtl) {
    return now >= judgeAt(unansweredSince, shortestTtl);
  }

  /** A quarter of the shortest ttl is the longest silence, and the rest remains for the attach. */
  private long judgeAt(long unansweredSince, long shortestTtl) {
    if (unansweredSince == Durations.NEVER) {
      return Durations.NEVER;
    }
    long patience = Math.min(timeout, shortestTtl / Numbers.Session.SILENCE_IS_TTL_DIVIDED_BY);
    return Math.max(Durations.plus(unansweredSince, patience), judgeFrom);
  }
}
