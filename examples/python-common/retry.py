"""Decides which failed calls to retry, and after which pause."""

from __future__ import annotations

import itertools
import time
from typing import Callable, Optional, TypeVar

import grpc
from holdfast_error import holdfast_error
from servers import Servers

Answer = TypeVar("Answer")

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0

# Status codes of a broken connection, apart from UNAVAILABLE. With an error reason of Holdfast the reason decides.
BROKEN = (
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.DEADLINE_EXCEEDED,
)


def pause_after(error: Optional[grpc.RpcError], failures: int) -> Optional[float]:
    """The pause in seconds before a retry at the next server. None: a retry cannot help.

    `error` is None if a stream ended without an error. `failures` is the number of failures in a row, including this
    failure.
    """
    fault = holdfast_error(error) if error is not None else None
    is_retryable = (
        error is None
        or error.code() is grpc.StatusCode.UNAVAILABLE
        or (fault.retry_after is not None if fault is not None else error.code() in BROKEN)
    )
    if not is_retryable:
        return None
    # The first retry has no pause, because it goes to another server and a held lease leaves little time.
    backoff = 0.0 if failures <= 1 else min(FIRST_PAUSE * 2**failures, LONGEST_PAUSE)
    advised = fault.retry_after if fault is not None and fault.retry_after is not None else 0.0
    return max(backoff, min(advised, LONGEST_PAUSE))


def call_anywhere(servers: Servers, call: Callable[[grpc.Channel], Answer]) -> Answer:
    """Makes a call that is safe to repeat. Tries each server once, and the first server once more."""
    for attempt in itertools.count(1):
        try:
            return call(servers.channel)
        except grpc.RpcError as error:
            pause = pause_after(error, attempt)
            if pause is None or attempt > servers.count:
                raise
            servers.next()
            time.sleep(pause)
    raise AssertionError("unreachable")
