"""The messages of a server stream, which is opened again after a break."""

import asyncio
from typing import Any, AsyncGenerator, Callable, Optional, TypeVar, cast

import grpc
import grpc.aio

from .._core.repetition import FIRST_MESSAGE, Repetition
from .._fork import keep
from ..errors import ClosedError, Facts, HoldfastError, error_of
from ._calls import CallChannel, CallMetadata, CallTarget, cancellations, error_of_failure

Request = TypeVar("Request")
Response = TypeVar("Response")

#: Takes the method of a stub: `lambda channel: LockServiceStub(channel).WatchLock`.
StreamMethod = Callable[[Any], "grpc.UnaryStreamMultiCallable[Request, Response]"]


async def watch(
    calls: CallChannel, method: "StreamMethod[Request, Response]", request: Request
) -> AsyncGenerator[Response, None]:
    """Raises a HoldfastError if a repetition cannot help. Ends when the iterator is closed."""
    repetition = Repetition(is_idempotent=True)
    while True:
        target: Optional[CallTarget] = None
        failed = error_of("the stream has ended", Facts("", grpc.StatusCode.UNAVAILABLE))
        try:
            metadata = await calls.metadata()
            async with calls.use() as target:
                stream = _once(calls, target, method, request, metadata)
                try:
                    async for response in stream:
                        repetition.answered()
                        yield response
                finally:
                    await stream.aclose()
        except ClosedError:
            raise
        except HoldfastError as error:
            failed = error
        if target is not None:
            calls.failed(target, failed)
        pause = repetition.pause_after(failed, is_sent=target is not None)
        if pause is None:
            raise failed
        await calls.pause(pause)


async def _once(
    calls: CallChannel,
    target: CallTarget,
    method: "StreamMethod[Request, Response]",
    request: Request,
    metadata: CallMetadata,
) -> AsyncGenerator[Response, None]:
    call = cast(Any, method(target.channel))(request, metadata=metadata)
    keep(call)
    is_silent = False
    before = cancellations()
    failed: Optional[HoldfastError] = None

    def leave() -> None:
        nonlocal is_silent
        is_silent = True
        call.cancel()

    # asyncio.wait_for may lose a cancellation of the caller.
    timer = asyncio.get_running_loop().call_later(FIRST_MESSAGE, leave)
    try:
        while True:
            before = cancellations()
            response = await call.read()
            timer.cancel()
            if response is grpc.aio.EOF:
                return
            yield response
    except grpc.aio.AioRpcError as failure:
        failed = error_of_failure(failure)
    except asyncio.CancelledError:
        if cancellations() > before:
            raise
        if calls.closed.done():
            raise ClosedError() from None
        if not is_silent:
            raise
        text = f"the server has sent nothing for {FIRST_MESSAGE:g} s"
        failed = error_of(text, Facts("", grpc.StatusCode.UNAVAILABLE))
    finally:
        timer.cancel()
        call.cancel()
        # gRPC keeps the socket until the call is collected, so no traceback may keep the call.
        call = None
    if failed is not None:
        raise failed
