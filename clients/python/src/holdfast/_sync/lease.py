"""A held lock, or held permits, for code with threads."""

import threading
from types import TracebackType
from typing import Callable, Mapping, Optional, Type

from .._core.durations import TimeSpan, optional_seconds
from .._lease_state import LeaseState
from ..aio._body import is_loss_of
from ..aio._lease import LeaderLease as AioLeaderLease
from ..aio._lease import Lease as AioLease
from ..errors import ClosedError, LeaseLost
from .portal import Portal, harmless


class Lease(LeaseState):
    """A lease of this process. Any thread may use it.

    As `with lease:` leaving the block releases the lease, and raises LeaseLost after a loss.
    Threads cannot be cancelled: call `check` before each step of the work.
    """

    def __init__(self, lease: AioLease, portal: Portal) -> None:
        super().__init__(lease._held)
        self._lease = lease
        self._portal = portal

    def on_lost(self, callback: Callable[[LeaseLost], object]) -> None:
        """Calls back in the thread of the client at a loss. Never after a release.

        The callback must not block, because the client waits meanwhile: set a threading.Event.
        """

        async def listen() -> None:
            self._lease.on_lost(harmless(callback))

        self._portal.run(listen())

    def wait_lost(self, timeout: Optional[TimeSpan] = None) -> bool:
        """Waits until the lease is over, or until the timeout.

        timeout: seconds. Default: no bound.

        True: the lease is lost. False: the lease is held, or was released by this process. Signal
        handlers run meanwhile, and may use the lease and the client.
        """
        seconds = optional_seconds(timeout, "timeout")
        over = threading.Event()

        async def listen() -> None:
            self._held.listen_end(over.set)

        async def ignore() -> None:
            self._held.ignore_end(over.set)

        if self._held.is_over:
            return self.loss is not None
        try:
            self._portal.run(listen())
        except ClosedError:
            # The client is closed, or this is a forked child.
            return self.loss is not None
        try:
            over.wait(seconds)
        finally:
            self._portal.start(ignore())
        return self.loss is not None

    def release(self) -> bool:
        """Releases the lease, after the work has ended. Also after a loss.

        Repeated in each next session until an answer comes or the lease has ended by its ttl.
        True: the work was protected until this release. After 5 s without an answer raises an
        UnavailableError, or the error of the refusal if the servers refuse the client. The
        release goes on then. In a forked child nothing is sent.
        """
        if self._portal.is_forked():
            return False
        return self._portal.run(self._lease.release())

    def update_metadata(self, metadata: Mapping[str, str]) -> None:
        """Replaces the metadata that others see. Updates of one lease take turns.

        Raises LeaseLost if the lease is over, and an error as `release` does after 10 s without
        an answer, the wait for the turn included.
        """
        self._portal.run(self._lease.update_metadata(metadata))

    def __enter__(self) -> "Lease":
        self._held.begin_block()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            self._leave(error)
        except BaseException:
            # An interruption, such as Ctrl-C, may have come before the release.
            self._held.give_back()
            raise

    def _leave(self, error: Optional[BaseException]) -> None:
        loss = self.loss
        early: Optional[LeaseLost] = None
        if loss is not None:
            # No answer can change the loss, so the block does not wait for the answer.
            self._portal.start(self._lease.leave())
        else:
            try:
                early = self._portal.run(self._lease.leave())
            except ClosedError:
                pass  # The client has released the lease, or this is a forked child.
        if error is None:
            loss = loss or early
            if loss is not None:
                raise loss
        elif loss is not None and isinstance(error, Exception):
            if not is_loss_of(error, self._held):
                raise loss from error


class LeaderLease(Lease):
    """The lease of a leader. `update_metadata` keeps the leader's value."""

    def __init__(self, lease: AioLeaderLease, portal: Portal) -> None:
        super().__init__(lease, portal)
        self._leader_lease = lease

    def update_value(self, value: str) -> None:
        """Shows another value to all observers. Keeps the other metadata.

        Raises as `update_metadata` does.
        """
        self._portal.run(self._leader_lease.update_value(value))
