"""The calls outside of the session, on a connection of their own, to one of several servers."""

import asyncio
import os
import sys
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Iterator,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVar,
    Union,
    cast,
)

import grpc
import grpc.aio

from .._core import clock, numbers, pauses
from .._core.durations import TimeSpan, to_seconds
from .._core.status import error_of_call
from .._fork import keep
from .._options import Tls
from .._telemetry import span
from ..errors import ClosedError, CredentialError, Facts, HoldfastError, no_answer
from ._channel import open_channel
from ._tokens import TokenSource

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

Request = TypeVar("Request")
Response = TypeVar("Response")

#: Takes the method of a stub: `lambda channel: LockServiceStub(channel).GetLock`.
Method = Callable[[Any], "grpc.UnaryUnaryMultiCallable[Request, Response]"]

CallMetadata = Sequence[Tuple[str, str]]


class CallTarget:
    """A channel to one server, which is closed when later calls go elsewhere and its last ends."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.uses = 0
        self.is_left = False


class CallChannel:
    def __init__(
        self,
        addresses: Sequence[str],
        tls: Union[Tls, bool],
        token: Optional[TokenSource],
        tracer: "Optional[Tracer]",
    ) -> None:
        self._addresses = addresses
        self._tls = tls
        self._token = token
        self._tracer = tracer
        self._pid = os.getpid()
        self._index = 0
        self._target: Optional[CallTarget] = None
        self._left: Set[CallTarget] = set()
        self._closing: Set[asyncio.Task[None]] = set()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def unary(
        self,
        method: "Method[Request, Response]",
        request: Request,
        *,
        timeout: Optional[TimeSpan] = None,
        is_idempotent: bool = True,
    ) -> Response:
        """Repeats the call at the next server where a repetition helps.

        timeout: the longest time of the call, retries included. Default: 10 s.
        is_idempotent: a second run does no harm, so a broken connection is no end.
        """
        limit = numbers.CALL if timeout is None else to_seconds(timeout, "timeout")
        name = type(request).__name__.removesuffix("Request")
        with span(self._tracer, f"holdfast.{name}", {"rpc.system": "grpc"}):
            return await self._repeat(method, request, clock.now() + limit, is_idempotent)

    @contextmanager
    def use(self) -> Iterator[CallTarget]:
        """The present server, for one call or stream."""
        if os.getpid() != self._pid:
            raise ClosedError("the client belongs to the parent of this forked process")
        if self.closed.done():
            raise ClosedError()
        if self._target is None:
            address = self._addresses[self._index % len(self._addresses)]
            self._target = CallTarget(open_channel(address, self._tls))
        target = self._target
        target.uses += 1
        try:
            yield target
        finally:
            target.uses -= 1
            if target.is_left and target.uses == 0:
                self._end(target)

    def leave(self, target: CallTarget) -> None:
        """Later calls go to the next server. Without effect if others have left before."""
        if target is not self._target:
            return
        self._index += 1
        self._target = None
        target.is_left = True
        self._left.add(target)
        if target.uses == 0:
            self._end(target)

    async def metadata(self) -> CallMetadata:
        if self._token is None:
            return ()
        try:
            bearer = await self._token()
        except Exception as error:
            facts = Facts("NO_CREDENTIAL", grpc.StatusCode.UNAUTHENTICATED)
            raise CredentialError(f"the client has no token: {error}", facts) from error
        return (("authorization", f"Bearer {bearer.token}"),)

    async def pause(self, seconds: float) -> None:
        """Raises a ClosedError when the client is closed."""
        await asyncio.wait([self.closed], timeout=seconds)
        if self.closed.done():
            raise ClosedError()

    async def answer(self, call: Any) -> Any:
        """The answer of a call. An end of the channel is a ClosedError."""
        keep(call)
        try:
            return await call
        except asyncio.CancelledError:
            call.cancel()
            if self.closed.done() and not is_cancelled():
                raise ClosedError() from None
            raise

    async def close(self) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
            if self._target is not None:
                self._left.add(self._target)
                self._target = None
            for target in list(self._left):
                self._end(target)
        while self._closing:
            await asyncio.wait(self._closing)

    def _end(self, target: CallTarget) -> None:
        self._left.discard(target)
        task = asyncio.get_running_loop().create_task(_close(target.channel))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _repeat(
        self,
        method: "Method[Request, Response]",
        request: Request,
        until: float,
        is_idempotent: bool,
    ) -> Response:
        attempts = refusals = 0
        while True:
            attempts += 1
            with self.use() as target:
                try:
                    metadata = await self.metadata()
                    timeout = max(0.001, until - clock.now())
                    call = cast(Any, method(target.channel))(
                        request, timeout=timeout, metadata=metadata
                    )
                    return cast(Response, await self.answer(call))
                except grpc.aio.AioRpcError as failure:
                    failed = error_of_failure(failure)
                if failed.code is grpc.StatusCode.UNAVAILABLE:
                    self.leave(target)
            pause = pauses.before_repeat(attempts, failed.retry_after)
            if failed.reason in numbers.CREDENTIAL_IS_FETCHED_ONCE_MORE:
                refusals += 1
                pause = 0.0
                is_last = refusals > 1
            else:
                is_last = not _is_repeated(failed, is_idempotent)
            if is_last or clock.now() + pause >= until:
                raise failed
            await self.pause(pause)


def error_of_failure(failure: grpc.aio.AioRpcError) -> HoldfastError:
    error = error_of_call(failure.code(), failure.details(), failure.trailing_metadata())
    if error.code is grpc.StatusCode.DEADLINE_EXCEEDED and not error.reason:
        return no_answer("no server answered in time", error)
    return error


def is_cancelled() -> bool:
    """Whether somebody has cancelled the present task. Before Python 3.11 nobody knows."""
    task = asyncio.current_task()
    if task is None or sys.version_info < (3, 11):
        return False
    return task.cancelling() > 0


def _is_repeated(error: HoldfastError, is_idempotent: bool) -> bool:
    if error.reason in numbers.CALL_IS_REPEATED:
        return True
    # The empty reason belongs to a broken connection.
    is_known = error.reason == "" or error.reason in numbers.IDEMPOTENT_CALL_IS_REPEATED
    return is_idempotent and is_known and error.code is grpc.StatusCode.UNAVAILABLE


async def _close(channel: grpc.aio.Channel) -> None:
    await channel.close()
