"""Suggestions for an input field."""

import asyncio
import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import Any, List, Optional, Type

import grpc
import grpc.aio

from .._autocomplete import Suggestion, suggestions_of
from .._core import clock, numbers
from .._core.durations import TimeSpan, to_seconds
from .._core.repetition import Repetition, attempt_time
from .._core.status import code_of
from .._fork import keep
from ..errors import ClosedError, Facts, HoldfastError, error_of, no_answer
from ..v1 import autocomplete_service_pb2 as pb
from ..v1.autocomplete_service_pb2_grpc import AutocompleteServiceStub
from ..v1.error_reason_pb2 import ErrorReason
from ._calls import CallChannel, CallMetadata, CallTarget, error_of_failure


@dataclass(frozen=True)
class _Query:
    text: str
    number: int
    typed_at: float
    #: The end of the wait for an answer.
    until: float
    #: None as the result: a newer query has superseded this one.
    future: "asyncio.Future[Optional[List[Suggestion]]]"


class TypeAhead:
    """One stream answers all keystrokes, and a newer query supersedes the older ones."""

    def __init__(self, calls: CallChannel, request: pb.SuggestRequest, debounce: TimeSpan) -> None:
        self._calls = calls
        self._request = request
        self._debounce = to_seconds(debounce, "debounce")
        #: The latest query without an answer.
        self._latest: Optional[_Query] = None
        self._sent = 0
        self._last_number = 0
        #: The start of the first query since the last answer.
        self._silent_since: Optional[float] = None
        self._repetition = Repetition(is_idempotent=True)
        self._is_closed = False
        self._is_left = False
        self._has_query = asyncio.Event()
        self._call: Any = None
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def type(self, text: str) -> Optional[List[Suggestion]]:
        """The suggestions for the text of the input field.

        None: a newer query has superseded this query, so show nothing. Raises a HoldfastError, an
        UnavailableError after 10 s without an answer.
        """
        self._settle(None)
        if self._is_closed or self._calls.closed.done():
            raise ClosedError()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Optional[List[Suggestion]]] = loop.create_future()
        self._last_number += 1
        now = clock.now()
        query = _Query(text, self._last_number, now, now + numbers.CALL, future)
        self._latest = query
        self._has_query.set()
        timer = loop.call_later(numbers.CALL, self._expire, query)
        try:
            return await future
        finally:
            timer.cancel()
            if self._latest is query:
                self._latest = None

    async def close(self) -> None:
        """Ends the stream. A query without an answer raises a ClosedError."""
        if self._is_closed:
            return
        self._is_closed = True
        self._settle(ClosedError())
        self._task.cancel()
        await asyncio.wait([self._task])

    async def __aenter__(self) -> "TypeAhead":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def _run(self) -> None:
        """Opens a stream when there is a query, and the next stream after a break."""
        while True:
            await self._has_query.wait()
            target: Optional[CallTarget] = None
            failed = error_of("the stream has ended", Facts("", grpc.StatusCode.UNAVAILABLE))
            try:
                metadata = await self._calls.metadata()
                async with self._calls.use() as target:
                    await self._stream(target, metadata)
            except HoldfastError as error:
                failed = error
            # gRPC loses the cancellation of a stream that fails at the same time.
            if self._is_closed or self._calls.closed.done():
                return self._settle(ClosedError())
            if target is not None:
                self._calls.failed(target, failed)
            latest = self._latest
            if latest is None:
                self._has_query.clear()
                continue
            await self._pause_after(failed, latest, is_sent=target is not None)
            if self._latest is not None:
                # The broken stream may have taken the query without sending it.
                self._has_query.set()

    async def _pause_after(self, failed: HoldfastError, query: _Query, is_sent: bool) -> None:
        pause = self._repetition.pause_after(failed, is_sent)
        if pause is None or clock.now() + pause > query.until:
            self._repetition.answered()
            return self._settle(failed)
        await asyncio.sleep(pause)

    async def _stream(self, target: CallTarget, metadata: CallMetadata) -> None:
        """Returns at the end of the stream. Raises a HoldfastError."""
        stub: Any = AutocompleteServiceStub(target.channel)
        self._call = stub.SuggestStream(metadata=metadata)
        keep(self._call)
        self._sent = 0
        self._silent_since = None
        failed: Optional[HoldfastError] = None
        writer = asyncio.get_running_loop().create_task(self._write())
        try:
            while True:
                response = await self._call.read()
                if response is grpc.aio.EOF:
                    return
                self._answer(response)
        except grpc.aio.AioRpcError as failure:
            failed = error_of_failure(failure)
        except asyncio.CancelledError:
            if self._is_closed:
                raise
            if self._calls.closed.done():
                raise ClosedError() from None
            # The server was silent.
            if self._is_left:
                return
            raise
        finally:
            self._is_left = False
            writer.cancel()
            self._call.cancel()
            # gRPC keeps the socket until the call is collected, so neither a traceback nor a timer
            # may keep the call.
            self._call = None
        if failed is not None:
            raise failed

    async def _write(self) -> None:
        try:
            while True:
                await self._has_query.wait()
                self._has_query.clear()
                latest = self._latest
                if latest is None or latest.number == self._sent:
                    continue
                wait = latest.typed_at + self._debounce - clock.now()
                if wait > 0:
                    await asyncio.sleep(wait)
                    self._has_query.set()
                    continue
                # The answer to an earlier query is not wanted any more.
                self._sent = latest.number
                suggest = pb.SuggestRequest()
                suggest.CopyFrom(self._request)
                suggest.query = latest.text
                self._expect_answer(latest)
                await self._call.write(
                    pb.SuggestStreamRequest(query_id=latest.number, suggest=suggest)
                )
        except (grpc.RpcError, grpc.aio.UsageError, asyncio.InvalidStateError):
            pass  # The stream has ended, and the reader hears of it.

    def _expect_answer(self, query: _Query) -> None:
        """Leaves the stream of a silent server, so that the next server is tried."""
        now = clock.now()
        if self._silent_since is None:
            self._silent_since = now
        expected: weakref.ReferenceType[Any] = weakref.ref(self._call)

        def late() -> None:
            since = self._silent_since
            if self._latest is not query or since is None or clock.now() - since < numbers.SILENCE:
                return
            # The next stream has a time of its own.
            call = expected()
            if call is None or call is not self._call:
                return
            self._is_left = True
            call.cancel()

        asyncio.get_running_loop().call_later(attempt_time(query.until - now, True), late)

    def _answer(self, response: pb.SuggestStreamResponse) -> None:
        self._silent_since = None
        latest = self._latest
        if latest is None or response.query_id != latest.number:
            return
        kind = response.WhichOneof("result")
        if kind == "suggestions":
            self._repetition.answered()
            self._settle(suggestions_of(response.suggestions.suggestions))
        elif kind == "error":
            self._failed(latest, _error_of_query(response.error))

    def _failed(self, query: _Query, error: HoldfastError) -> None:
        """Sends the query again after a pause, if a repetition helps."""
        pause = self._repetition.pause_after(error)
        if pause is None or clock.now() + pause > query.until:
            self._repetition.answered()
            return self._settle(error)

        def again() -> None:
            if self._latest is query:
                self._sent = 0
                self._has_query.set()

        asyncio.get_running_loop().call_later(pause, again)

    def _expire(self, query: _Query) -> None:
        if self._latest is query:
            self._settle(no_answer("no server answered the query in time"))

    def _settle(self, outcome: "Optional[List[Suggestion] | HoldfastError]") -> None:
        latest, self._latest = self._latest, None
        if latest is None or latest.future.done():
            return
        if isinstance(outcome, HoldfastError):
            latest.future.set_exception(outcome)
        else:
            latest.future.set_result(outcome)


def _error_of_query(error: pb.SuggestError) -> HoldfastError:
    try:
        reason = ErrorReason.Name(error.reason)[len("ERROR_REASON_") :]
    except ValueError:
        reason = ""
    return error_of(error.message, Facts(reason, code_of(error.code)))
