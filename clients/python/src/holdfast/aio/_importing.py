"""One import: start, batches, commit. Without the commit nothing changes."""

import asyncio
from types import TracebackType
from typing import Any, List, Optional, Type

import grpc.aio

from .._autocomplete import DictionaryInfo, Profile, dictionary_info, profile_message
from .._fork import keep
from ..errors import ClosedError, HoldfastError
from ..v1 import autocomplete_service_pb2 as pb
from ..v1.autocomplete_service_pb2_grpc import AutocompleteServiceStub
from ._calls import CallChannel, CallTarget, cancellations, error_of_failure


class Importing:
    """`send` waits until the stream takes the batch. Leaving the block without commit ends all."""

    def __init__(self, calls: CallChannel, name: str, profile: Optional[Profile]) -> None:
        self._calls = calls
        self._use = calls.use()
        self._start = pb.ImportStart(dictionary=name, profile=profile_message(profile))
        self._target: Optional[CallTarget] = None
        self._call: Any = None
        self._count = 0

    async def __aenter__(self) -> "Importing":
        target = self._target = await self._use.__aenter__()
        try:
            metadata = await self._calls.metadata()
            stub: Any = AutocompleteServiceStub(target.channel)
            self._call = stub.ImportDictionary(metadata=metadata)
            keep(self._call)
            await self._write(pb.ImportDictionaryRequest(start=self._start))
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._call is not None:
            self._call.cancel()
        await self._use.__aexit__(None, None, None)

    async def send(self, batch: List[pb.Entry]) -> None:
        self._count += len(batch)
        await self._write(pb.ImportDictionaryRequest(batch=pb.ImportBatch(entries=batch)))

    async def commit(self) -> DictionaryInfo:
        commit = pb.ImportCommit(entry_count=self._count)
        await self._write(pb.ImportDictionaryRequest(commit=commit))
        response = await self._answer(end=True)
        return dictionary_info(response.dictionary)

    async def _write(self, request: pb.ImportDictionaryRequest) -> None:
        before = cancellations()
        try:
            await self._call.write(request)
        except grpc.aio.AioRpcError as failure:
            raise self._failed(failure) from None
        except asyncio.InvalidStateError:
            # The server has ended the call, and its status says why.
            await self._answer(end=False)
            raise
        except asyncio.CancelledError:
            raise self._cancelled(before) from None

    async def _answer(self, end: bool) -> pb.ImportDictionaryResponse:
        before = cancellations()
        try:
            if end:
                await self._call.done_writing()
            response: pb.ImportDictionaryResponse = await self._call
        except grpc.aio.AioRpcError as failure:
            raise self._failed(failure) from None
        except asyncio.CancelledError:
            raise self._cancelled(before) from None
        return response

    def _failed(self, failure: grpc.aio.AioRpcError) -> HoldfastError:
        error = error_of_failure(failure)
        if self._target is not None:
            self._calls.failed(self._target, error)
        return error

    def _cancelled(self, before: int) -> BaseException:
        if self._calls.closed.done() and cancellations() == before:
            return ClosedError()
        return asyncio.CancelledError()
