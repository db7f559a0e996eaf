"""The engine's world: an event loop of asyncio."""

import asyncio
import copy
import os
from typing import Callable, TypeVar

from .._core import clock
from .._core.outcome import Outcome
from ..errors import HoldfastError

T = TypeVar("T")


class LoopRuntime:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pid = os.getpid()

    def now(self) -> float:
        return clock.now()

    def call_later(self, delay: float, run: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(delay, run)

    def call_soon(self, run: Callable[[], None]) -> None:
        self._loop.call_soon(run)

    def call_from_thread(self, run: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(run)
        except RuntimeError:
            pass  # The loop is closed, so nobody waits.

    def is_forked(self) -> bool:
        return os.getpid() != self._pid


def future_of(outcome: Outcome[T]) -> "asyncio.Future[T]":
    """The future of an outcome. A cancelled future leaves the outcome alone."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def settled(result: Outcome[T]) -> None:
        if future.done():
            return
        if result.error is not None:
            future.set_exception(_own(result.error))
        else:
            future.set_result(result.value)  # type: ignore[arg-type]

    outcome.then(settled)
    return future


def _own(error: BaseException) -> BaseException:
    """An error of one caller, because each raise adds a traceback to the error.

    A close has one error for all waits.
    """
    if not isinstance(error, HoldfastError):
        return error
    own = copy.copy(error)
    own.__dict__.update(error.__dict__)
    own.__cause__ = error.__cause__
    return own
