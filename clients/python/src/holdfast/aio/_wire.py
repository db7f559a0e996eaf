"""One stream of OpenSession over grpc.aio."""

import asyncio
import logging
from collections import deque
from typing import Any, Callable, Deque, Optional, Set, Tuple, Union

import grpc
import grpc.aio

from .._core.runtime import WireReader
from .._core.servers import Server
from .._core.status import error_of_call
from .._fork import keep
from .._options import Tls
from ..errors import Facts, HoldfastError, no_answer
from ..v1.session_service_pb2 import OpenSessionRequest
from ..v1.session_service_pb2_grpc import SessionServiceStub
from ._channel import open_channel

_logger = logging.getLogger("holdfast")

#: A request, or None for the half-close.
_Message = Tuple[Optional[OpenSessionRequest], Callable[[], None]]


#: The longest wait for the ends of reads and writes (seconds).
_LAST_ANSWERS = 1.0


class GrpcWires:
    """Opens wires, and knows when all of them have ended."""

    def __init__(self, tls: Union[Tls, bool]) -> None:
        self._tls = tls
        self._closing: Set[asyncio.Task[None]] = set()

    def open(self, server: Server, token: Optional[str], reader: WireReader) -> "GrpcWire":
        channel = open_channel(server, self._tls)
        return GrpcWire(channel, token, reader, self._close)

    async def closed(self) -> None:
        """Waits for the ends of the connections."""
        while self._closing:
            await asyncio.wait(self._closing)

    def _close(self, end: "asyncio.Task[None]") -> None:
        self._closing.add(end)
        end.add_done_callback(self._closing.discard)


class GrpcWire:
    def __init__(
        self,
        channel: grpc.aio.Channel,
        token: Optional[str],
        reader: WireReader,
        closing: "Callable[[asyncio.Task[None]], None]",
    ) -> None:
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        self._channel = channel
        stub: Any = SessionServiceStub(channel)
        self._call: Any = stub.OpenSession(metadata=metadata)
        keep(self._call)
        self._reader = reader
        self._closing = closing
        self._messages: Deque[_Message] = deque()
        self._has_message = asyncio.Event()
        self._is_destroyed = False
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._read()), loop.create_task(self._write())]

    def write(self, request: OpenSessionRequest, sent: Callable[[], None]) -> None:
        self._messages.append((request, sent))
        self._has_message.set()

    def half_close(self) -> None:
        self._messages.append((None, lambda: None))
        self._has_message.set()

    def destroy(self) -> None:
        if self._is_destroyed:
            return
        self._is_destroyed = True
        self._messages.clear()
        self._closing(asyncio.get_running_loop().create_task(self._end()))

    async def _end(self) -> None:
        self._call.cancel()
        self._has_message.set()
        # gRPC tells the ends of reads and writes even after the loop is closed, as an error.
        await asyncio.wait(self._tasks, timeout=_LAST_ANSWERS)
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await self._channel.close()
        # gRPC keeps the socket until the call is collected, so no cycle may keep the call.
        self._call = None
        self._tasks.clear()

    async def _read(self) -> None:
        error: Optional[HoldfastError] = no_answer("the stream was cancelled")
        try:
            while True:
                response = await self._call.read()
                if response is grpc.aio.EOF:
                    error = None
                    break
                if self._is_destroyed:
                    return
                self._reader.response(response)
        except grpc.aio.AioRpcError as failed:
            error = error_of_call(failed.code(), failed.details(), failed.trailing_metadata())
        except asyncio.CancelledError:
            if self._is_destroyed:
                raise
        except Exception as defect:
            _logger.exception("a response could not be read")
            text = f"a response could not be read: {defect}"
            error = HoldfastError(text, Facts("", grpc.StatusCode.INTERNAL))
        if not self._is_destroyed:
            self._reader.ended(error)

    async def _write(self) -> None:
        try:
            while True:
                while not self._messages:
                    if self._is_destroyed:
                        return
                    self._has_message.clear()
                    await self._has_message.wait()
                request, sent = self._messages.popleft()
                if request is None:
                    await self._call.done_writing()
                    return
                await self._send(request)
                sent()
        except Exception as error:
            # The stream has ended, and the reader hears why.
            _logger.debug("a message was not sent: %r", error)

    async def _send(self, request: OpenSessionRequest) -> None:
        """As `call.write`, which hides the status of a refused stream behind one of its own.

        If the server ends the stream before the first message is sent, `call.write` sets the
        status INTERNAL, and the reason of the server, such as BAD_CREDENTIAL, is gone.
        """
        call = getattr(self._call, "_cython_call", None)
        if call is None or not hasattr(call, "send_serialized_message"):
            await self._call.write(request)
            return
        await self._call.wait_for_connection()
        await call.send_serialized_message(request.SerializeToString())
