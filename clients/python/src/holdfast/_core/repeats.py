"""Repeats commands after a pause, for the reasons that a repetition helps."""

from typing import Callable, Protocol

import grpc

from ..errors import HoldfastError
from . import numbers, pauses
from .open_session import OpenSession
from .timers import Timers


class Repeatable(Protocol):
    #: The number of failed attempts in a row.
    attempts: int


class Repeats:
    def __init__(self, timers: Timers) -> None:
        self._timers = timers

    def later(
        self,
        task: Repeatable,
        error: HoldfastError,
        session: OpenSession,
        again: Callable[[], None],
    ) -> bool:
        """False: a repetition does not help.

        A session that leaves gets no repetition, because the next one sends all.
        """
        # An unknown reason is treated as its code says.
        is_unavailable = error.code is grpc.StatusCode.UNAVAILABLE
        if error.reason not in numbers.COMMAND_IS_REPEATED and not is_unavailable:
            return False
        task.attempts += 1
        if not (session.is_leaving and error.reason == "DRAINING"):
            self._timers.later(pauses.before_repeat(task.attempts, error.retry_after), again)
        return True
