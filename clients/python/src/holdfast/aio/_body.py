"""A block of code under a lease: a loss cancels the block."""

import asyncio
import sys
from typing import Awaitable, Callable, Optional

from .._core.held_lease import HeldLease
from ..errors import LeaseLost, LossCause


class Body:
    """Begins in the task that runs the block, as asyncio.timeout does."""

    def __init__(self, held: HeldLease) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a block with a lease needs a task")
        self._held = held
        self._task = task
        self._cancelling = _cancelling(task)
        self._is_interrupted = False
        # A cancellation would come after a block without an await.
        held.begin_block()
        held.listen(self._lost)

    async def leave(
        self,
        error: Optional[BaseException],
        release: Callable[[], Awaitable[Optional[LeaseLost]]],
    ) -> bool:
        """Call with the error of the block, after the block has ended.

        Releases the lease, after a loss in the background. Raises LeaseLost if the lease was lost
        before the end of the block, and the error of the block is its cause. Returns False: the
        block's own error goes on.
        """
        held = self._held
        held.ignore(self._lost)
        is_own_cancel = self._take_back(error)
        loss = held.loss
        if loss is not None:
            # No answer can change the loss, so the block does not wait for the answer.
            if loss.loss_cause is not LossCause.FORKED:
                held.release()
        else:
            early = await _shielded(release())
            loss = early if error is None else None
        if loss is None:
            return False
        if error is None:
            raise loss
        if isinstance(error, asyncio.CancelledError):
            # The caller's own cancellation goes on.
            if is_own_cancel:
                raise loss from error
            return False
        if not isinstance(error, Exception) or is_loss_of(error, held):
            return False
        raise loss from error

    def _lost(self, _: LeaseLost) -> None:
        self._is_interrupted = True
        self._task.cancel()

    def _take_back(self, error: Optional[BaseException]) -> bool:
        """Whether the cancellation of the task came from this block, and only from it."""
        if not self._is_interrupted:
            return False
        if sys.version_info >= (3, 11):
            return self._task.uncancel() <= self._cancelling
        return True


def is_loss_of(error: Exception, held: HeldLease) -> bool:
    """Whether the error is the loss of this lease itself, as `check` raises it."""
    return isinstance(error, LeaseLost) and error.source is held


def _cancelling(task: "asyncio.Task[object]") -> int:
    return task.cancelling() if sys.version_info >= (3, 11) else 0


async def _shielded(work: Awaitable[Optional[LeaseLost]]) -> Optional[LeaseLost]:
    """The release goes on if the caller is cancelled, but the caller waits no longer."""
    return await asyncio.shield(asyncio.ensure_future(work))
