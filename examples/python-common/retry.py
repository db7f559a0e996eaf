"""Which failed calls are worth another try, and when."""

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

# How a broken connection looks, besides UNAVAILABLE; only where the service itself has said nothing.
BROKEN = (
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.DEADLINE_EXCEEDED,
)


def pause_after(error: Optional[grpc.RpcError], failures: int) -> Optional[float]:
    """How long to wait before the call is made again, at the next server; None where that is no use.

    `error` is None where a stream ended without a reason; `failures` in a row, this one included.
    """
    fault = holdfast_error(error) if error is not None else None
    again = (
        error is None
        or error.code() is grpc.StatusCode.UNAVAILABLE
        or (fault.retry_after is not None if fault is not None else error.code() in BROKEN)
    )
    if not again:
        return None
    # The first time at once: with a lease in hand there is no time to lose, and it is another server anyhow.
    backoff = 0.0 if failures <= 1 else min(FIRST_PAUSE * 2**failures, LONGEST_PAUSE)
    advised = fault.retry_after if fault is not None and fault.retry_after is not None else 0.0
    return max(backoff, min(advised, LONGEST_PAUSE))


def call_anywhere(servers: Servers, call: Callable[[grpc.Channel], Answer]) -> Answer:
    """Makes a call that is harmless to repeat: at each server once, and once more at the first."""
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
