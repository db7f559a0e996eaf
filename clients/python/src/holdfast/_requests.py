"""Requests for leases, which both clients make in the same way."""

from abc import ABC, abstractmethod
from typing import Callable, Generic, Mapping, Optional, TypeVar

from ._core.acquire_intent import Acquire, QueuePlace
from ._core.durations import TimeSpan, hold_limit, optional_seconds
from .v1.lease_pb2 import LockMode

#: Called with the place in the queue while a request waits, at most every 2 s.
OnQueued = Callable[[QueuePlace], object]

Acquiring = TypeVar("Acquiring")


class Requests(ABC, Generic[Acquiring]):
    def lock(
        self,
        name: str,
        *,
        ttl: Optional[TimeSpan] = None,
        wait: Optional[TimeSpan] = None,
        shared: bool = False,
        max_hold: Optional[TimeSpan] = None,
        metadata: Optional[Mapping[str, str]] = None,
        on_queued: Optional[OnQueued] = None,
    ) -> Acquiring:
        """A lock: `with hf.lock("report") as lease:`, or `lease = hf.lock("report").acquire()`.

        In asyncio: `async with hf.lock("report") as lease:`, or `lease = await hf.lock("report")`.
        All times are seconds, or a timedelta.

        ttl: the lease ends so long after this process vanishes. The client renews the lease long
            before. Default: the server's, 30 s. Range: 100 ms to 2 min, as the server allows.
        wait: the longest wait in the queue. Default: without a bound.
        shared: holders of a shared lock hold it together.
        max_hold: the longest time to hold the lease. Afterwards it counts as lost, with the cause
            MAX_HOLD, and is released when the work has ended or the deadline has passed.
            Heartbeats prove that the process runs, this option catches work that hangs. Range:
            greater than 0. Default: no bound.
        metadata: texts that others see beside the lease.
        on_queued: told the place in the queue while the request waits, at most every 2 s. Called
            in the event loop or the thread of the client, and must not block.

        Raises a ContendedError after `wait`, and other HoldfastErrors.
        """
        acquire = Acquire(
            kind="lock",
            name=name,
            ttl=optional_seconds(ttl, "ttl"),
            wait=optional_seconds(wait, "wait"),
            max_hold=hold_limit(max_hold),
            metadata=metadata,
            on_queued=on_queued,
            mode=LockMode.LOCK_MODE_SHARED if shared else LockMode.LOCK_MODE_EXCLUSIVE,
        )
        return self._acquiring(acquire)

    def permits(
        self,
        name: str,
        permits: int = 1,
        *,
        limit: Optional[int] = None,
        exact_limit: bool = False,
        ttl: Optional[TimeSpan] = None,
        wait: Optional[TimeSpan] = None,
        max_hold: Optional[TimeSpan] = None,
        metadata: Optional[Mapping[str, str]] = None,
        on_queued: Optional[OnQueued] = None,
    ) -> Acquiring:
        """Permits of a semaphore, as `lock`.

        limit: the limit of a semaphore that does not exist yet. An existing one keeps its limit,
            and the logger is told once of each other limit of a name.
        exact_limit: demands `limit`. Raises a LimitMismatchError if the semaphore has another
            limit when the permits are asked for. Needs the permission `read`, and raises a
            NotAllowedError without it. A later change of the limit is not noticed.
        """
        if exact_limit and limit is None:
            raise ValueError("exact_limit needs limit")
        acquire = Acquire(
            kind="permits",
            name=name,
            ttl=optional_seconds(ttl, "ttl"),
            wait=optional_seconds(wait, "wait"),
            max_hold=hold_limit(max_hold),
            metadata=metadata,
            on_queued=on_queued,
            permit_count=permits,
            initial_limit=limit,
            exact_limit=exact_limit,
        )
        return self._acquiring(acquire)

    @abstractmethod
    def _acquiring(self, acquire: Acquire) -> Acquiring: ...
