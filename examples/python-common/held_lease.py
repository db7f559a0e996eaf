"""What a worker knows about its lease, by its own monotonic clock alone."""

from __future__ import annotations

import threading
import time
from typing import Optional

from google.protobuf.duration_pb2 import Duration
from holdfast.v1 import lease_pb2
from words import span_text


def seconds_of(span: Duration) -> float:
    return span.seconds + span.nanos / 1e9


def duration_of(seconds: float) -> Duration:
    span = Duration()
    span.FromNanoseconds(round(seconds * 1e9))
    return span


def deadline(t0: float, expire_offset: Duration, ttl: Duration, receipt: float) -> float:
    """Until when the lease may be believed in: never later than its true end, with no clock shared with anybody.

    `t0` is `time.monotonic()` before the call was sent, `receipt` when its answer, or the event, was there.
    """
    return min(t0 + seconds_of(expire_offset), receipt + seconds_of(ttl))


class LeaseOver(Exception):
    """The lease is no longer ours to work under. `deadline_at` is set where our own clock said so."""

    def __init__(self, message: str, deadline_at: Optional[float] = None):
        super().__init__(message)
        self.deadline_at = deadline_at

    def describe(self) -> str:
        """What happened, as seen from now."""
        if self.deadline_at is None:
            return str(self)
        return f"deadline passed {span_text(time.monotonic() - self.deadline_at)} ago"


class HeldLease:
    """A held lease and its deadline. The clock runs on while the process is stopped, which is when nobody else
    could tell it that its time is up. Used by two threads: one reads the stream, the other one works."""

    def __init__(self, t0: float, lease: lease_pb2.Lease):
        self.id = lease.lease_id
        self.token = lease.fencing_token
        self._ttl = lease.ttl
        self._until = deadline(t0, lease.expire_offset, lease.ttl, time.monotonic())
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._reason: Optional[LeaseOver] = None

    @property
    def over(self) -> bool:
        """By the clock, and not only as far as somebody has noticed."""
        with self._lock:
            self._end_if_passed()
            return self._reason is not None

    def left(self) -> float:
        return self._until - time.monotonic()

    def check(self) -> None:
        """To be called before each step, and once more right before each write. Raises when the lease is over."""
        with self._lock:
            self._end_if_passed()
            if self._reason is not None:
                raise self._reason

    def wait(self, seconds: float) -> None:
        """Sleeps, and raises at once when the lease is over."""
        wake_at = time.monotonic() + seconds
        while time.monotonic() < wake_at:
            self.check()
            self._over.wait(min(wake_at - time.monotonic(), max(0.0, self.left())))
        self.check()

    def renewed(self, t0: float, expire_offset: Duration) -> None:
        """Another answer about the lease. Of several the latest deadline counts: a renewal never shortens."""
        with self._lock:
            # A deadline that has passed stays passed. A worker that was stopped finds the news of its renewals when
            # it goes on; others may have worked in between, and old news does not undo that.
            self._end_if_passed()
            if self._reason is None:
                self._until = max(self._until, deadline(t0, expire_offset, self._ttl, time.monotonic()))

    def end(self, reason: LeaseOver) -> None:
        """The first reason stands; a deadline that has passed by now comes before whatever is said of it later."""
        with self._lock:
            self._end_if_passed()
            if self._reason is None:
                self._reason = reason
                self._over.set()

    def _end_if_passed(self) -> None:
        if self._reason is None and self.left() <= 0:
            self._reason = LeaseOver("deadline passed", self._until)
            self._over.set()
