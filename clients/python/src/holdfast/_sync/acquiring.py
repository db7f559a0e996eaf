"""A request for a lease, before it is made."""

import asyncio
import threading
from types import TracebackType
from typing import Any, Callable, Generic, List, Optional, Type, TypeVar

from ..aio._acquiring import Acquiring as AioAcquiring
from ..aio._lease import Lease as AioLease
from .lease import Lease
from .portal import Portal

AioLeaseT = TypeVar("AioLeaseT", bound=AioLease)
LeaseT = TypeVar("LeaseT", bound=Lease)


class Acquiring(Generic[LeaseT]):
    """`with` runs a block under the lease. `acquire()` gives the lease itself.

    Each `with` or `acquire()` makes a new request. Any thread may use it.
    """

    def __init__(
        self,
        acquiring: AioAcquiring[AioLeaseT],
        portal: Portal,
        kind: Callable[[AioLeaseT, Portal], LeaseT],
    ) -> None:
        self._portal = portal
        self._attempt: Callable[[], _Attempt[Any, LeaseT]] = lambda: _Attempt(
            acquiring, portal, kind
        )
        self._blocks = threading.local()

    def acquire(self) -> LeaseT:
        """Waits for the lease. Release it in the end. Raises a HoldfastError."""
        attempt = self._attempt()
        try:
            return attempt.wait()
        except BaseException:
            attempt.give_up()
            raise

    def __enter__(self) -> LeaseT:
        attempt = self._attempt()
        try:
            lease = attempt.wait()
            lease.__enter__()
            self._leases().append(lease)
            return lease
        except BaseException:
            attempt.give_up()
            raise

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._leases().pop().__exit__(kind, error, traceback)

    def _leases(self) -> List[LeaseT]:
        """The leases of the blocks of this thread."""
        if not hasattr(self._blocks, "leases"):
            self._blocks.leases = []
        leases: List[LeaseT] = self._blocks.leases
        return leases


class _Attempt(Generic[AioLeaseT, LeaseT]):
    """One acquire. An interruption, such as Ctrl-C, may come at any moment of the caller's thread.

    So `give_up` also ends a wait of which the caller has no result yet, and a lease that the
    caller never got.
    """

    def __init__(
        self,
        acquiring: AioAcquiring[AioLeaseT],
        portal: Portal,
        kind: Callable[[AioLeaseT, Portal], LeaseT],
    ) -> None:
        self._acquiring = acquiring
        self._portal = portal
        self._kind = kind
        self._task: Optional[asyncio.Task[object]] = None
        self._granted: Optional[AioLeaseT] = None

    def wait(self) -> LeaseT:
        return self._kind(self._portal.run(self._wait()), self._portal)

    def give_up(self) -> None:
        self._portal.start(self._end())

    async def _wait(self) -> AioLeaseT:
        self._task = asyncio.current_task()
        try:
            self._granted = await self._acquiring.acquire()
            return self._granted
        finally:
            # A task that has raised and this frame would keep each other.
            self._task = None

    async def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._granted is not None:
            await self._granted.leave()
