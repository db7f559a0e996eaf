"""Opens a client."""

import asyncio
import logging
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generator, Mapping, Optional, Type, Union

import grpc

from .._core import numbers
from .._core.durations import TimeSpan, to_seconds
from .._core.news import News
from .._core.servers import Servers
from .._core.session_client import SessionClient, SessionSettings
from .._core.texts import checked_metadata, checked_text
from .._fork import is_cut_off
from .._options import Addresses, Tls, TokenOption, address_list, refuse_token_without_tls
from ..errors import Facts, error_of
from ._calls import CallChannel
from ._client import Holdfast
from ._names import Names
from ._runtime import LoopRuntime, future_of
from ._tokens import Tokens
from ._wire import GrpcWires

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


_CUT_OFF = (
    "gRPC cannot connect in a forked child of a process that has connected: fork before the first"
    " connect, or start the process with the method spawn or forkserver of multiprocessing"
)


class connect:
    """Connects to one of several servers of the same store.

    `hf = await connect("127.0.0.1:50051")`, or `async with connect(...) as hf:`, which closes the
    client at the end. Raises a HoldfastError if no server answers in time, if the servers refuse
    the client, or in a forked child of a process that has connected.

    The options are those of `holdfast.connect`.
    """

    def __init__(
        self,
        addresses: Addresses,
        *,
        tls: Union[Tls, bool] = False,
        token: Optional[TokenOption] = None,
        allow_insecure_token: bool = False,
        holder_id: str = "",
        metadata: Optional[Mapping[str, str]] = None,
        connect_timeout: TimeSpan = numbers.CONNECT,
        logger: Optional[logging.Logger] = None,
        tracer: "Optional[Tracer]" = None,
    ) -> None:
        if is_cut_off():
            raise error_of(_CUT_OFF, Facts("FORKED", grpc.StatusCode.FAILED_PRECONDITION))
        self._addresses = address_list(addresses)
        if token is not None and tls is False and not allow_insecure_token:
            refuse_token_without_tls(self._addresses)
        self._timeout = to_seconds(connect_timeout, "connect_timeout")
        self._tls = tls
        self._token = token
        self._holder_id = checked_text(holder_id, "holder_id")
        self._metadata = checked_metadata(dict(metadata or {}))
        self._logger = logger or logging.getLogger("holdfast")
        self._tracer = tracer
        self._client: Optional[Holdfast] = None

    def __await__(self) -> Generator[Any, None, Holdfast]:
        return self._open().__await__()

    async def __aenter__(self) -> Holdfast:
        self._client = await self._open()
        return self._client

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def _open(self) -> Holdfast:
        wires = GrpcWires(self._tls)
        tokens = None if self._token is None else Tokens(self._token)
        news = News(self._logger)
        servers = Servers(self._addresses)
        names = Names(servers.names)
        settings = SessionSettings(
            servers=servers,
            open_wire=wires.open,
            news=news,
            look_up=names.fetch,
            fetch_token=None if tokens is None else tokens.fetch,
            holder_id=self._holder_id,
            metadata=self._metadata,
        )
        session = SessionClient(settings, LoopRuntime(asyncio.get_running_loop()))
        try:
            await future_of(session.ready(self._timeout))
        except BaseException:
            session.close(0.0)
            await names.close()
            await wires.closed()
            if tokens is not None:
                await tokens.close()
            raise
        # The first calls go to the server that has answered, because an earlier address may hang.
        calls = CallChannel(servers.again(), names, self._tls, tokens, self._tracer)
        return Holdfast(session, wires, calls, news, self._tracer)
