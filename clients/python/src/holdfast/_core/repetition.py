"""Whether a failed call outside of the session is repeated, and when."""

from typing import Optional

import grpc

from ..errors import HoldfastError
from . import numbers, pauses

#: The first message of a watch comes within this time (seconds). Then the next server is tried.
FIRST_MESSAGE = numbers.FIRST_ANSWER


def attempt_time(left: float, is_idempotent: bool) -> float:
    """The time of one attempt.

    A call that may be repeated leaves a part of its time to the next attempts, because the server
    may be silent.
    """
    if not is_idempotent:
        return left
    return min(left, max(left * numbers.ATTEMPT_SHARE, numbers.SILENCE))


def is_broken(error: HoldfastError) -> bool:
    """Whether the next attempt needs another connection.

    A status without a reason comes from the gRPC library or a proxy.
    """
    is_late = error.reason == "" and error.code is grpc.StatusCode.DEADLINE_EXCEEDED
    return is_late or error.code is grpc.StatusCode.UNAVAILABLE


class Repetition:
    """The rules that all calls and streams share."""

    def __init__(self, is_idempotent: bool) -> None:
        """is_idempotent: a second run does no harm."""
        self._is_idempotent = is_idempotent
        self._failures = 0
        self._refusals = 0

    def answered(self) -> None:
        """The server has answered, so the next failure is a first one."""
        self._failures = self._refusals = 0

    def pause_after(self, error: HoldfastError, is_sent: bool = True) -> Optional[float]:
        """The pause before the next attempt (seconds). None: a repetition cannot help.

        A credential is fetched anew once.

        is_sent: false if the attempt has failed before it reached the network.
        """
        if is_sent and error.reason in numbers.CREDENTIAL_IS_FETCHED_ONCE_MORE:
            self._refusals += 1
            return None if self._refusals > 1 else 0.0
        if is_sent and not self._is_repeated(error):
            return None
        self._failures += 1
        return pauses.before_repeat(self._failures, error.retry_after)

    def _is_repeated(self, error: HoldfastError) -> bool:
        if error.reason in numbers.CALL_IS_REPEATED:
            return True
        if not self._is_idempotent:
            return False
        # An unknown reason is treated as its code says.
        if error.reason and error.code is not grpc.StatusCode.UNAVAILABLE:
            return error.reason in numbers.IDEMPOTENT_CALL_IS_REPEATED
        # A reset stream is INTERNAL, and so is a message that can never be encoded: repeated once.
        is_reset = error.code is grpc.StatusCode.INTERNAL and self._failures == 0
        return is_broken(error) or is_reset
