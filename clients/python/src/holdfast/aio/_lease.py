"""A held lock, or held permits."""

import asyncio
from types import TracebackType
from typing import Callable, Dict, Mapping, Optional, Type

from .._core import numbers
from .._core.held_lease import HeldLease, ReleaseAnswer
from .._core.outcome import Outcome
from .._core.texts import checked_text
from .._leader import VALUE
from .._lease_state import LeaseState
from ..errors import HoldfastError, LeaseLost, LossCause
from ..v1 import lease_pb2
from ._body import Body
from ._runtime import future_of

#: After these ends others may have held the lease before its deadline. An expired lease ends
#: after the deadline.
_EARLY_ENDS: Dict[int, LossCause] = {
    lease_pb2.LossCause.LOSS_CAUSE_REVOKED: LossCause.REVOKED,
    lease_pb2.LossCause.LOSS_CAUSE_STORE_RESET: LossCause.STORE_RESET,
}


class Lease(LeaseState):
    """A lease of this process.

    As `async with lease:` a loss cancels the block, and leaving the block releases the lease.
    """

    def __init__(self, held: HeldLease) -> None:
        super().__init__(held)
        self._body: Optional[Body] = None

    def __del__(self) -> None:
        """The session has the lease itself, so only this handle tells that it is forgotten."""
        self._held.forgotten()

    def on_lost(self, callback: Callable[[LeaseLost], object]) -> None:
        """Calls back in the event loop at a loss. Never after a release.

        An error of the callback is logged by the logger of the client.
        """
        loop = asyncio.get_running_loop()
        self._held.listen(lambda loss: loop.call_soon(self._tell, callback, loss))

    async def release(self) -> bool:
        """Releases the lease, after the work has ended. Also after a loss.

        Repeated in each next session until an answer comes or the lease has ended by its ttl.
        True: the work was protected until this release. After 5 s without an answer raises an
        UnavailableError, or the error of the refusal if the servers refuse the client. The
        release goes on then, and also if the caller is cancelled.
        """
        if self._held.cause is LossCause.FORKED:
            return False
        return (await self._answer()).released

    async def _answer(self) -> ReleaseAnswer:
        answer = future_of(self._held.release())
        # The release may fail after this caller has gone. Nobody needs that error then.
        answer.add_done_callback(_retrieve)
        await asyncio.wait([answer], timeout=numbers.RELEASE)
        if answer.done():
            return answer.result()
        raise self._held.no_answer_to_release()

    async def update_metadata(self, metadata: Mapping[str, str]) -> None:
        """Replaces the metadata that others see. Updates of one lease take turns.

        Raises LeaseLost if the lease is over, and an error as `release` does after 10 s without
        an answer, the wait for the turn included. Such an update may still be carried out.
        """
        await self._updated(self._held.update_metadata(metadata))

    async def _updated(self, outcome: Outcome[None]) -> None:
        try:
            await future_of(outcome)
        except asyncio.CancelledError:
            self._held.give_up_update(outcome)
            raise

    def give_back(self) -> None:
        """Releases in the background."""
        self._held.give_back()

    async def __aenter__(self) -> "Lease":
        if self._body is not None:
            raise RuntimeError("a block with this lease has begun before")
        self._body = Body(self._held)
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> bool:
        assert self._body is not None
        return await self._body.leave(error, self.leave)

    async def leave(self) -> Optional[LeaseLost]:
        """Releases the lease at the end of a block, and waits up to 5 s for the answer.

        Never raises. Returns a loss if the server ended the lease before this release.
        """
        if self._held.cause is LossCause.FORKED:
            return None
        try:
            answer = await self._answer()
        except HoldfastError as error:
            self._held.news.not_released(self._held.name, error)
            return None
        cause = None if answer.released else _EARLY_ENDS.get(answer.cause)
        return None if cause is None else self._held.lost(cause)

    def _tell(self, callback: Callable[[LeaseLost], object], loss: LeaseLost) -> None:
        try:
            callback(loss)
        except Exception as error:
            self._held.news.raised(error)


class LeaderLease(Lease):
    """The lease of a leader. `update_metadata` keeps the leader's value."""

    async def update_value(self, value: str) -> None:
        """Shows another value to all observers. Keeps the other metadata.

        Raises as `update_metadata` does.
        """
        await self._updated(self._held.update_entry(VALUE, checked_text(value, "value")))


def _retrieve(answer: "asyncio.Future[ReleaseAnswer]") -> None:
    """asyncio reports each error that nobody has retrieved."""
    if not answer.cancelled():
        answer.exception()
