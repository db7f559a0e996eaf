"""A request for a lease, before it is made."""

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Generator, Generic, Optional, Type, TypeVar

from .._core.acquire_intent import Acquire
from .._core.held_lease import HeldLease
from .._core.session_client import SessionClient
from .._telemetry import span
from ..errors import ClosedError
from ._lease import Lease
from ._limits import SemaphoreLimits
from ._runtime import future_of

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


LeaseT = TypeVar("LeaseT", bound=Lease)


class Acquiring(Generic[LeaseT]):
    """`await` gives the lease itself. `async with` runs a block under the lease.

    A loss of the lease cancels the block, and leaving the block then raises LeaseLost. Each
    `await` or `async with` makes a new request.
    """

    def __init__(
        self,
        session: SessionClient,
        acquire: Acquire,
        limits: SemaphoreLimits,
        tracer: "Optional[Tracer]",
        kind: Callable[[HeldLease], LeaseT],
    ) -> None:
        self._session = session
        self._limits = limits
        self._kind = kind
        self._acquire = acquire
        self._tracer = tracer
        self._lease: Optional[LeaseT] = None

    def __await__(self) -> Generator[Any, None, LeaseT]:
        return self.acquire().__await__()

    async def acquire(self) -> LeaseT:
        """Waits for the lease. Release it in the end. Raises a HoldfastError."""
        acquire = self._acquire
        attributes = {"holdfast.kind": acquire.kind, "holdfast.name": acquire.name}
        with span(self._tracer, "holdfast.acquire", attributes):
            return await self._limits.acquire(acquire, self._wait)

    async def __aenter__(self) -> LeaseT:
        if self._lease is not None:
            raise RuntimeError("a block with this request has begun before")
        lease = await self.acquire()
        self._lease = lease
        await lease.__aenter__()
        return lease

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> bool:
        assert self._lease is not None
        lease, self._lease = self._lease, None
        return await lease.__aexit__(kind, error, traceback)

    async def _wait(self, acquire: Acquire) -> LeaseT:
        if self._session.runtime.is_forked():
            raise ClosedError("the client belongs to the parent of this forked process")
        intent = self._session.acquire(acquire)
        try:
            return self._kind(await future_of(intent.outcome))
        except asyncio.CancelledError as cancelled:
            # A grant that has come in the same moment is released.
            if intent.outcome.value is not None:
                intent.outcome.value.release()
            self._session.abandon(intent, cancelled)
            raise
