"""Suggestions for an input field."""

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Any, List, Optional, Type

import grpc
import grpc.aio

from .._autocomplete import Suggestion, suggestions_of
from .._core import clock, numbers, pauses
from .._core.durations import TimeSpan, to_seconds
from .._core.status import code_of
from .._fork import keep
from ..errors import ClosedError, Facts, HoldfastError, error_of, no_answer
from ..v1 import autocomplete_service_pb2 as pb
from ..v1.autocomplete_service_pb2_grpc import AutocompleteServiceStub
from ..v1.error_reason_pb2 import ErrorReason
from ._calls import CallChannel, error_of_failure


@dataclass(frozen=True)
class _Query:
    text: str
    number: int
    typed_at: float
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
        self._is_closed = False
        self._has_query = asyncio.Event()
        self._call: Any = None
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def type(self, text: str) -> Optional[List[Suggestion]]:
        """The suggestions for the text of the input field.

        None: a newer query has superseded this query, so show nothing. Raises a HoldfastError.
        """
        self._settle(None)
        if self._is_closed or self._calls.closed.done():
            raise ClosedError()
        future: asyncio.Future[Optional[List[Suggestion]]]
        future = asyncio.get_running_loop().create_future()
        self._last_number += 1
        self._latest = _Query(text, self._last_number, clock.now(), future)
        self._has_query.set()
        return await future

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
        failures = 0
        while True:
            await self._has_query.wait()
            try:
                await self._stream()
                failed: HoldfastError = no_answer("the stream ended")
            except HoldfastError as error:
                failed = error
            if self._calls.closed.done():
                return self._settle(ClosedError())
            failures = failures + 1 if self._sent == self._last_number else 1
            pause = pauses.before_repeat(failures, failed.retry_after)
            latest = self._latest
            if latest is not None:
                is_late = clock.now() + pause > latest.typed_at + numbers.CALL
                if is_late or failed.code is not grpc.StatusCode.UNAVAILABLE:
                    self._settle(failed)
            await asyncio.sleep(pause)
            if self._latest is not None:
                # The broken stream may have taken the query without sending it.
                self._has_query.set()

    async def _stream(self) -> None:
        with self._calls.use() as target:
            metadata = await self._calls.metadata()
            stub: Any = AutocompleteServiceStub(target.channel)
            call = stub.SuggestStream(metadata=metadata)
            keep(call)
            self._sent = 0
            writer = asyncio.get_running_loop().create_task(self._write(call))
            try:
                while True:
                    response = await call.read()
                    if response is grpc.aio.EOF:
                        self._calls.leave(target)
                        return
                    self._answer(response)
            except grpc.aio.AioRpcError as failure:
                error = error_of_failure(failure)
                if error.code is grpc.StatusCode.UNAVAILABLE:
                    self._calls.leave(target)
                raise error from None
            except asyncio.CancelledError:
                if self._calls.closed.done() and not self._is_closed:
                    raise ClosedError() from None
                raise
            finally:
                writer.cancel()
                call.cancel()

    async def _write(self, call: Any) -> None:
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
                await call.write(pb.SuggestStreamRequest(query_id=latest.number, suggest=suggest))
        except (grpc.RpcError, grpc.aio.UsageError, asyncio.InvalidStateError):
            pass  # The stream has ended, and the reader hears of it.

    def _answer(self, response: pb.SuggestStreamResponse) -> None:
        latest = self._latest
        if latest is None or response.query_id != latest.number:
            return
        kind = response.WhichOneof("result")
        if kind == "suggestions":
            self._settle(suggestions_of(response.suggestions.suggestions))
        elif kind == "error":
            self._settle(_error_of_query(response.error))

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
