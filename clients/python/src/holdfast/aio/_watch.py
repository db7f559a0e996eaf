"""The messages of a server stream, which is opened again after a break."""

import asyncio
from typing import Any, AsyncGenerator, Callable, Optional, TypeVar, cast

import grpc
import grpc.aio

from .._core import pauses
from .._fork import keep
from ..errors import ClosedError, HoldfastError
from ._calls import CallChannel, CallTarget, error_of_failure, is_cancelled

Request = TypeVar("Request")
Response = TypeVar("Response")

#: Takes the method of a stub: `lambda channel: LockServiceStub(channel).WatchLock`.
StreamMethod = Callable[[Any], "grpc.UnaryStreamMultiCallable[Request, Response]"]


async def watch(
    calls: CallChannel, method: "StreamMethod[Request, Response]", request: Request
) -> AsyncGenerator[Response, None]:
    """Raises a HoldfastError if a repetition cannot help. Ends when the iterator is closed."""
    failures = 0
    while True:
        failures += 1
        failed: Optional[HoldfastError] = None
        with calls.use() as target:
            stream = _once(calls, target, method, request)
            try:
                async for response in stream:
                    failures = 1
                    yield response
            except grpc.aio.AioRpcError as failure:
                failed = error_of_failure(failure)
                if failed.code is not grpc.StatusCode.UNAVAILABLE:
                    raise failed from None
            finally:
                await stream.aclose()
            calls.leave(target)
        await calls.pause(pauses.before_repeat(failures, failed.retry_after if failed else None))


async def _once(
    calls: CallChannel,
    target: CallTarget,
    method: "StreamMethod[Request, Response]",
    request: Request,
) -> AsyncGenerator[Response, None]:
    metadata = await calls.metadata()
    call = cast(Any, method(target.channel))(request, metadata=metadata)
    keep(call)
    try:
        while True:
            response = await call.read()
            if response is grpc.aio.EOF:
                return
            yield response
    except asyncio.CancelledError:
        if calls.closed.done() and not is_cancelled():
            raise ClosedError() from None
        raise
    finally:
        call.cancel()
