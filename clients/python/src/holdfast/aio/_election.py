"""Leader election: the holder of the lock with the name of the election is the leader."""

from typing import AsyncGenerator, Callable, Mapping, Optional

from .._core.acquire_intent import Acquire
from .._core.durations import TimeSpan, hold_limit, optional_seconds
from .._leader import VALUE, Leader, leader_of
from .._requests import OnQueued
from ..v1.lease_pb2 import LockMode
from ..v1.lock_service_pb2 import GetLockRequest, WatchLockRequest
from ..v1.lock_service_pb2_grpc import LockServiceStub
from ._acquiring import Acquiring
from ._calls import CallChannel
from ._lease import LeaderLease
from ._watch import watch


class Election:
    def __init__(
        self,
        name: str,
        acquiring: Callable[[Acquire], Acquiring[LeaderLease]],
        calls: CallChannel,
    ) -> None:
        self.name = name
        self._acquiring = acquiring
        self._calls = calls

    def campaign(
        self,
        value: str,
        *,
        ttl: Optional[TimeSpan] = None,
        wait: Optional[TimeSpan] = None,
        max_hold: Optional[TimeSpan] = None,
        metadata: Optional[Mapping[str, str]] = None,
        on_queued: Optional[OnQueued] = None,
    ) -> Acquiring[LeaderLease]:
        """Waits until this process is the leader. The release of the lease resigns.

        As `async with election.campaign(value) as lease:` a loss cancels the leader's work.

        The options are those of `holdfast.Election.campaign`. `on_queued` is called in the event
        loop.
        """
        acquire = Acquire(
            kind="lock",
            name=self.name,
            ttl=optional_seconds(ttl, "ttl"),
            wait=optional_seconds(wait, "wait"),
            max_hold=hold_limit(max_hold),
            on_queued=on_queued,
            metadata={**(metadata or {}), VALUE: value},
            kept={VALUE: value},
            mode=LockMode.LOCK_MODE_EXCLUSIVE,
        )
        return self._acquiring(acquire)

    async def leader(self) -> Optional[Leader]:
        """The present leader. None: there is none."""
        response = await self._calls.unary(
            lambda channel: LockServiceStub(channel).GetLock, GetLockRequest(name=self.name)
        )
        return leader_of(response.lock)

    async def observe(self) -> AsyncGenerator[Optional[Leader], None]:
        """The leader at once, and after each change. None while there is none.

        Raises a ClosedError when the client is closed.
        """
        request = WatchLockRequest(name=self.name)
        is_first, last = True, None
        locks = watch(self._calls, lambda channel: LockServiceStub(channel).WatchLock, request)
        try:
            async for response in locks:
                leader = leader_of(response.lock)
                if is_first or leader != last:
                    is_first, last = False, leader
                    yield leader
        finally:
            await locks.aclose()
