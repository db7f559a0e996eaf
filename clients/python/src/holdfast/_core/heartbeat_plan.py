"""When the next heartbeat is due, and when a silent server is left."""

import math
from typing import Optional

from . import numbers


class HeartbeatPlan:
    """All times are seconds of the own clock. `shortest_ttl` is infinite without a lease."""

    def __init__(self, first_answer: float = numbers.FIRST_ANSWER) -> None:
        self._interval = numbers.HEARTBEAT_INTERVAL
        self._timeout = first_answer
        self._judge_from = -math.inf

    def started(self, timeout: Optional[float]) -> None:
        """Takes the timeout of the first response."""
        self._timeout = numbers.HEARTBEAT_TIMEOUT if timeout is None else timeout

    def change_interval(self, seconds: float) -> None:
        if seconds > 0:
            self._interval = seconds

    def period(self, shortest_ttl: float) -> float:
        """The time between two heartbeats."""
        return min(self._interval, shortest_ttl / numbers.HEARTBEATS_PER_TTL)

    def patience(self, shortest_ttl: float) -> float:
        """The longest time for which a heartbeat may stay without an answer."""
        return min(self._timeout, shortest_ttl / numbers.SILENCE_IS_TTL_DIVIDED_BY)

    def wake_at(
        self, last_sent_at: float, unanswered_since: Optional[float], shortest_ttl: float
    ) -> float:
        """The next time at which a heartbeat or a judgement is due."""
        heartbeat_at = last_sent_at + self.period(shortest_ttl)
        return min(heartbeat_at, self._judge_at(unanswered_since, shortest_ttl))

    def woke(self, planned_at: float, now: float, shortest_ttl: float) -> None:
        """Call when the timer fires.

        If the timer is more than one period late, this process was itself stopped, and answers
        may lie unread. Then the server is judged only after one more period.
        """
        period = self.period(shortest_ttl)
        if now - planned_at > period:
            self._judge_from = now + period

    def is_silent(
        self, now: float, unanswered_since: Optional[float], shortest_ttl: float
    ) -> bool:
        return now >= self._judge_at(unanswered_since, shortest_ttl)

    def _judge_at(self, unanswered_since: Optional[float], shortest_ttl: float) -> float:
        if unanswered_since is None:
            return math.inf
        return max(unanswered_since + self.patience(shortest_ttl), self._judge_from)
