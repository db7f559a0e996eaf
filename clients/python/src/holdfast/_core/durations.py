"""Lengths of time: seconds in this package, google.protobuf.Duration in messages."""

import math
from datetime import timedelta
from typing import Optional, Union

from google.protobuf.duration_pb2 import Duration

#: A number of seconds, or a timedelta.
TimeSpan = Union[float, timedelta]

#: The largest span that google.protobuf.Duration allows: 10,000 years.
_MAX_SECONDS = 315_576_000_000
_NANOS = 1_000_000_000


def to_seconds(span: TimeSpan, option: str) -> float:
    """Raises a ValueError that names the option for a negative, infinite or other value."""
    if isinstance(span, timedelta):
        seconds = span.total_seconds()
    elif isinstance(span, (int, float)) and not isinstance(span, bool):
        seconds = float(span)
    else:
        raise TypeError(f"{option} must be seconds or a timedelta, not {span!r}")
    if not 0 <= seconds <= _MAX_SECONDS:
        raise ValueError(f"{option} must be 0 seconds or more, not {span!r}")
    return seconds


def optional_seconds(span: Optional[TimeSpan], option: str) -> Optional[float]:
    return None if span is None else to_seconds(span, option)


def hold_limit(max_hold: Optional[TimeSpan]) -> Optional[float]:
    """Raises a ValueError for 0 too, because such a lease would be lost at once."""
    seconds = optional_seconds(max_hold, "max_hold")
    if seconds == 0:
        raise ValueError("max_hold must be greater than 0")
    return seconds


def duration(seconds: float) -> Duration:
    """Keeps nanoseconds, so a short wait does not become 0, which means "try once"."""
    whole, nanos = divmod(round(abs(seconds) * _NANOS), _NANOS)
    sign = -1 if seconds < 0 else 1
    return Duration(seconds=sign * whole, nanos=sign * nanos)


def seconds_of(span: Duration) -> float:
    """-Infinity if a field is out of range, or if the two signs differ."""
    seconds, nanos = span.seconds, span.nanos
    if abs(seconds) > _MAX_SECONDS or abs(nanos) >= _NANOS or seconds * nanos < 0:
        return -math.inf
    return seconds + nanos / _NANOS


def deadline(t0: float, offset: float, ttl: float, receipt: float) -> float:
    """The time of the own clock until which the caller may rely on a lease.

    Never later than the true end of the lease. The clocks of caller and server need not agree.

    t0: the clock before the send of the heartbeat (or the call) that the answer names
    offset: the answer's `expire_offset`
    ttl: the lease's `ttl`
    receipt: the clock at the arrival of the answer
    """
    return min(t0 + offset, receipt + ttl)
