"""The options of locks and permits, as the engine takes them."""

from typing import Callable, Mapping, Optional

from ._core.acquire_intent import Acquire, QueuePlace
from ._core.durations import TimeSpan, optional_seconds
from .v1.lease_pb2 import LockMode

#: Called with the place in the queue while a request waits, at most every 2 s.
OnQueued = Callable[[QueuePlace], object]


def lock_acquire(
    name: str,
    *,
    ttl: Optional[TimeSpan],
    wait: Optional[TimeSpan],
    shared: bool,
    max_hold: Optional[TimeSpan],
    metadata: Optional[Mapping[str, str]],
    on_queued: Optional[OnQueued] = None,
) -> Acquire:
    return Acquire(
        kind="lock",
        name=name,
        ttl=optional_seconds(ttl, "ttl"),
        wait=optional_seconds(wait, "wait"),
        max_hold=optional_seconds(max_hold, "max_hold"),
        metadata=metadata,
        on_queued=on_queued,
        mode=LockMode.LOCK_MODE_SHARED if shared else LockMode.LOCK_MODE_EXCLUSIVE,
    )


def permits_acquire(
    name: str,
    permits: int,
    *,
    limit: Optional[int],
    ttl: Optional[TimeSpan],
    wait: Optional[TimeSpan],
    max_hold: Optional[TimeSpan],
    metadata: Optional[Mapping[str, str]],
    on_queued: Optional[OnQueued] = None,
) -> Acquire:
    return Acquire(
        kind="permits",
        name=name,
        ttl=optional_seconds(ttl, "ttl"),
        wait=optional_seconds(wait, "wait"),
        max_hold=optional_seconds(max_hold, "max_hold"),
        metadata=metadata,
        on_queued=on_queued,
        permit_count=permits,
        initial_limit=limit,
    )
