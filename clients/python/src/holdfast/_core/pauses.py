"""The times until the next attempt, with full jitter so that thousands of clients spread."""

import random
from typing import Optional

from . import numbers


def before_session(
    failures: int,
    nearest_deadline: float,
    advised: Optional[float] = None,
    share: Optional[float] = None,
) -> float:
    """The pause before the next session (seconds).

    failures: the number of sessions in a row that had no first response
    nearest_deadline: the time to the nearest deadline of a held lease, infinite without a lease
    advised: the delay that the server advises
    share: the random share of the longest pause, from 0 to 1
    """
    longest = _backoff(failures) if failures > 0 else numbers.LONGEST_PAUSE_AFTER_BREAK
    limit = min(longest, nearest_deadline / numbers.PAUSE_AFTER_BREAK_IS_DEADLINE_DIVIDED_BY)
    least = min(advised or 0.0, numbers.LONGEST_BACKOFF, nearest_deadline * numbers.ATTACH_SHARE)
    return max(numbers.SHORTEST_PAUSE, least, _share(share) * limit)


def before_repeat(attempts: int, advised: Optional[float], share: Optional[float] = None) -> float:
    """The pause before a command or a call is repeated (seconds).

    attempts: the number of failed attempts in a row
    advised: the delay that the server advises
    """
    least = min(advised or 0.0, numbers.LONGEST_BACKOFF)
    return max(numbers.SHORTEST_PAUSE, least, _share(share) * _backoff(attempts))


def before_attach(attempts: int, advised: Optional[float], time_left: float) -> float:
    """The pause before an attach is repeated (seconds).

    time_left: the time to the deadline of the lease
    """
    pause = before_repeat(attempts, advised)
    return max(numbers.SHORTEST_PAUSE, min(pause, time_left * numbers.ATTACH_SHARE))


def _backoff(failures: int) -> float:
    return min(numbers.LONGEST_BACKOFF, numbers.FIRST_BACKOFF * 2.0 ** min(failures, 10))


def _share(share: Optional[float]) -> float:
    return random.random() if share is None else share
