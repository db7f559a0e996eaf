"""A held lease and its deadline on the worker's own monotonic clock."""

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
    """The deadline of the lease on the local clock. The deadline is never later than the expiry in the store.

    `t0` is `time.monotonic()` before the call was sent, `receipt` is `time.monotonic()` at the arrival of the answer.
    """
    return min(t0 + seconds_of(expire_offset), receipt + seconds_of(ttl))


class LeaseOver(Exception):
    """The lease has ended, so its work must stop. `deadline_at` is set only if the deadline has passed."""

    def __init__(self, message: str, deadline_at: Optional[float] = None):
        super().__init__(message)
        self.deadline_at = deadline_at

    def describe(self) -> str:
        """A sentence for the output, with the time since the deadline."""
        if self.deadline_at is None:
            return str(self)
        return f"deadline passed {span_text(time.monotonic() - self.deadline_at)} ago"


class HeldLease:
    """A held lease and its deadline. The clock runs on while the process is paused, when no message can reach the
    process. Two threads use this class: the thread that reads the stream, and the thread that works."""

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
        """Also checks the clock."""
        with self._lock:
            self._end_if_passed()
            return self._reason is not None

    def left(self) -> float:
        return self._until - time.monotonic()

    def check(self) -> None:
        """Must be called before each step, and again right before each write. Raises if the lease has ended."""
        with self._lock:
            self._end_if_passed()
            if self._reason is not None:
                raise self._reason

    def wait(self, seconds: float) -> None:
        """Sleeps. Raises as soon as the lease ends."""
        wake_at = time.monotonic() + seconds
        while time.monotonic() < wake_at:
            self.check()
            self._over.wait(min(wake_at - time.monotonic(), max(0.0, self.left())))
        self.check()

    def renewed(self, t0: float, expire_offset: Duration) -> None:
        """Extends the deadline after a renewal. A renewal never shortens the lease, so the latest deadline is valid."""
        with self._lock:
            # A passed deadline stays passed. A worker that was paused may later find old renewals in its socket, but
            # another worker may have held the lock in the meantime.
            self._end_if_passed()
            if self._reason is None:
                self._until = max(self._until, deadline(t0, expire_offset, self._ttl, time.monotonic()))

    def end(self, reason: LeaseOver) -> None:
        """Ends the lease. Only the first reason is kept. A passed deadline is an earlier reason than `reason`."""
        with self._lock:
            self._end_if_passed()
            if self._reason is None:
                self._reason = reason
                self._over.set()

    def _end_if_passed(self) -> None:
        if self._reason is None and self.left() <= 0:
            self._reason = LeaseOver("deadline passed", self._until)
            self._over.set()
