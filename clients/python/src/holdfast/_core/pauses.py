"""The times until the next attempt, with full jitter so that thousands of clients spread."""

import random
from typing import Optional

from . import numbers


def before_session(failures: int, nearest_deadline: float, share: Optional[float] = None) -> float:
    """The pause before the next session (seconds).

    failures: the number of sessions in a row that had no first response
    nearest_deadline: the time to the nearest deadline of a held lease, infinite without a lease
    share: the random share of the longest pause, from 0 to 1
    """
    longest = _backoff(failures) if failures > 0 else numbers.LONGEST_PAUSE_AFTER_BREAK
    limit = min(longest, nearest_deadline / numbers.PAUSE_AFTER_BREAK_IS_DEADLINE_DIVIDED_BY)
    return max(numbers.SHORTEST_PAUSE, _share(share) * limit)


def before_repeat(attempts: int, advised: Optional[float], share: Optional[float] = None) -> float:
    """The pause before a command or a call is repeated (seconds).

    attempts: the number of failed attempts in a row
    advised: the delay that the server advises
    """
    least = min(advised or 0.0, numbers.LONGEST_BACKOFF)
    return max(numbers.SHORTEST_PAUSE, least, _share(share) * _backoff(attempts))


def _backoff(failures: int) -> float:
    return min(numbers.LONGEST_BACKOFF, numbers.FIRST_BACKOFF * 2.0 ** min(failures, 10))


def _share(share: Optional[float]) -> float:
    return random.random() if share is None else share
