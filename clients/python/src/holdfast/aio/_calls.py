"""The calls outside of the session, on a connection of their own, to one of several servers."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
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

from .._core import clock, numbers
from .._core.durations import TimeSpan, to_seconds
from .._core.repetition import Repetition, attempt_time, is_broken
from .._core.servers import Servers
from .._core.status import error_of_call
from .._fork import keep
from .._options import Tls
from .._telemetry import span
from ..errors import ClosedError, HoldfastError
from ._channel import open_channel
from ._names import Names
from ._tokens import Tokens

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
        #: The start of the first call since the last answer.
        self.silent_since: Optional[float] = None


class CallChannel:
    def __init__(
        self,
        servers: Servers,
        names: Names,
        tls: Union[Tls, bool],
        tokens: Optional[Tokens],
        tracer: "Optional[Tracer]",
    ) -> None:
        self._servers = servers
        self._names = names
        self._tls = tls
        self._tokens = tokens
        self._tracer = tracer
        self._pid = os.getpid()
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

    @asynccontextmanager
    async def use(self, timeout: float = numbers.CALL) -> AsyncIterator[CallTarget]:
        """The present server, for one call or stream.

        timeout: the longest time for the look-up of its name (seconds).
        """
        self._check_open()
        if self._target is None:
            await self._names.looked_up(timeout)
            self._check_open()
        # Another call may have waited for the same look-up.
        if self._target is None:
            server = self._servers.next().server
            self._target = CallTarget(open_channel(server, self._tls, keepalive=True))
        target = self._target
        target.uses += 1
        try:
            yield target
        finally:
            target.uses -= 1
            if target.is_left and target.uses == 0:
                self._end(target)

    def _check_open(self) -> None:
        if os.getpid() != self._pid:
            raise ClosedError("the client belongs to the parent of this forked process")
        if self.closed.done():
            raise ClosedError()

    def leave(self, target: CallTarget) -> None:
        """Later calls go to the next server. Without effect if others have left before."""
        if target is not self._target:
            return
        self._target = None
        target.is_left = True
        self._left.add(target)
        if target.uses == 0:
            self._end(target)

    def failed(self, target: CallTarget, error: HoldfastError) -> None:
        """Later calls leave a broken connection."""
        if error.reason == "" and error.code is grpc.StatusCode.DEADLINE_EXCEEDED:
            # The caller's own short timeout says little about the server.
            since = target.silent_since
            if since is not None and clock.now() - since < numbers.SILENCE:
                return
        if is_broken(error):
            self.leave(target)

    async def metadata(self, timeout: float = numbers.CALL) -> CallMetadata:
        """timeout: the longest time for the token (seconds)."""
        if self._tokens is None:
            return ()
        bearer = await self._tokens.get(timeout)
        return (("authorization", f"Bearer {bearer.token}"),)

    async def pause(self, seconds: float) -> None:
        """Raises a ClosedError when the client is closed."""
        await asyncio.wait([self.closed], timeout=seconds)
        if self.closed.done():
            raise ClosedError()

    async def answer(self, call: Any) -> Any:
        """The answer of a call. An end of the channel is a ClosedError."""
        keep(call)
        before = cancellations()
        try:
            return await call
        except asyncio.CancelledError:
            call.cancel()
            if self.closed.done() and cancellations() == before:
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
        await self._names.close()
        while self._closing:
            await asyncio.wait(self._closing)
        if self._tokens is not None:
            await self._tokens.close()

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
        repetition = Repetition(is_idempotent)
        while True:
            target: Optional[CallTarget] = None
            try:
                metadata = await self.metadata(max(0.0, until - clock.now()))
                async with self.use(max(0.0, until - clock.now())) as target:
                    timeout = attempt_time(max(0.001, until - clock.now()), is_idempotent)
                    return await self._once(target, method, request, timeout, metadata)
            except ClosedError:
                raise
            except HoldfastError as error:
                failed = error
            if target is not None:
                self.failed(target, failed)
            pause = repetition.pause_after(failed, is_sent=target is not None)
            if pause is None or clock.now() + pause >= until:
                raise failed
            await self.pause(pause)

    async def _once(
        self,
        target: CallTarget,
        method: "Method[Request, Response]",
        request: Request,
        timeout: float,
        metadata: CallMetadata,
    ) -> Response:
        if target.silent_since is None:
            target.silent_since = clock.now()
        call = cast(Any, method(target.channel))(request, timeout=timeout, metadata=metadata)
        try:
            response = await self.answer(call)
        except grpc.aio.AioRpcError as failure:
            error = error_of_failure(failure)
            if not (error.reason == "" and is_broken(error)):
                target.silent_since = None
            raise error from None
        target.silent_since = None
        return cast(Response, response)


def error_of_failure(failure: grpc.aio.AioRpcError) -> HoldfastError:
    return error_of_call(failure.code(), failure.details(), failure.trailing_metadata())


def cancellations() -> int:
    """How often somebody has cancelled the present task. Before Python 3.11 nobody knows.

    A task may go on after a cancellation, so only a rise of the number is a new one.
    """
    task = asyncio.current_task()
    if task is None or sys.version_info < (3, 11):
        return 0
    return task.cancelling()


async def _close(channel: grpc.aio.Channel) -> None:
    await channel.close()
