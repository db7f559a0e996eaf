"""A request for a lease, before it is made."""

import threading
from types import TracebackType
from typing import List, Optional, Type

from ..aio._acquiring import Acquiring as AioAcquiring
from ..aio._lease import Lease as AioLease
from .lease import Lease
from .portal import Portal


class Acquiring:
    """`with` runs a block under the lease. `acquire()` gives the lease itself.

    Each `with` or `acquire()` makes a new request. Any thread may use it.
    """

    def __init__(self, acquiring: AioAcquiring, portal: Portal) -> None:
        self._acquiring = acquiring
        self._portal = portal
        self._blocks = threading.local()

    def acquire(self) -> Lease:
        """Waits for the lease. Release it in the end. Raises a HoldfastError."""
        granted: List[AioLease] = []

        async def wait() -> AioLease:
            granted.append(await self._acquiring.acquire())
            return granted[0]

        async def give_back() -> None:
            for lease in granted:
                await lease.leave()

        try:
            return Lease(self._portal.run(wait()), self._portal)
        except BaseException:
            # A grant may have come in the moment of an interruption, such as Ctrl-C.
            self._portal.start(give_back())
            raise

    def __enter__(self) -> Lease:
        lease = self.acquire().__enter__()
        self._leases().append(lease)
        return lease

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._leases().pop().__exit__(kind, error, traceback)

    def _leases(self) -> List[Lease]:
        """The leases of the blocks of this thread."""
        if not hasattr(self._blocks, "leases"):
            self._blocks.leases = []
        leases: List[Lease] = self._blocks.leases
        return leases
