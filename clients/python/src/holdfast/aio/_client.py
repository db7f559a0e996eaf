"""The client of asyncio."""

from types import TracebackType
from typing import TYPE_CHECKING, AsyncGenerator, Mapping, Optional, Type

from .._core import numbers
from .._core.acquire_intent import Acquire
from .._core.durations import TimeSpan
from .._core.news import News
from .._core.session_client import SessionClient
from .._requests import Requests
from .._server_info import ServerInfo, info_of
from ..errors import ContendedError
from ..v1.autocomplete_service_pb2 import ListDictionariesRequest
from ..v1.autocomplete_service_pb2_grpc import AutocompleteServiceStub
from ..v1.server_service_pb2 import GetServerInfoRequest
from ..v1.server_service_pb2_grpc import ServerServiceStub
from ._acquiring import Acquiring
from ._calls import CallChannel, Method, Request, Response
from ._dictionary import Dictionary
from ._election import Election
from ._lease import LeaderLease, Lease
from ._limits import SemaphoreLimits
from ._recents import Recents
from ._runtime import future_of
from ._watch import StreamMethod, watch
from ._wire import GrpcWires

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


class Holdfast(Requests[Acquiring[Lease]]):
    """A client of the servers of one store. `connect` makes it. Close it in the end.

    Belongs to the event loop in which it was made.
    """

    def __init__(
        self,
        session: SessionClient,
        wires: GrpcWires,
        calls: CallChannel,
        news: News,
        tracer: "Optional[Tracer]",
    ) -> None:
        self._session = session
        self._wires = wires
        self._calls = calls
        self._limits = SemaphoreLimits(calls, news)
        self._tracer = tracer

    async def try_lock(
        self,
        name: str,
        *,
        ttl: Optional[TimeSpan] = None,
        shared: bool = False,
        max_hold: Optional[TimeSpan] = None,
        metadata: Optional[Mapping[str, str]] = None,
    ) -> Optional[Lease]:
        """Tries once. None: others hold the lock or wait for it."""
        return await _unless_contended(
            self.lock(name, ttl=ttl, wait=0, shared=shared, max_hold=max_hold, metadata=metadata)
        )

    async def try_permits(
        self,
        name: str,
        permits: int = 1,
        *,
        limit: Optional[int] = None,
        exact_limit: bool = False,
        ttl: Optional[TimeSpan] = None,
        max_hold: Optional[TimeSpan] = None,
        metadata: Optional[Mapping[str, str]] = None,
    ) -> Optional[Lease]:
        """Tries once. None: too few permits are free, or others wait for them."""
        return await _unless_contended(
            self.permits(
                name,
                permits,
                limit=limit,
                exact_limit=exact_limit,
                ttl=ttl,
                wait=0,
                max_hold=max_hold,
                metadata=metadata,
            )
        )

    def election(self, name: str) -> Election:
        return Election(name, self._campaigning, self._calls)

    def recents(self, name: str) -> Recents:
        """The latest choices of one user."""
        return Recents(self._calls, name)

    def dictionary(self, name: str) -> Dictionary:
        return Dictionary(self._calls, name)

    async def dictionary_names(self, prefix: str = "") -> AsyncGenerator[str, None]:
        """The names of all dictionaries with this prefix, in order."""
        token = ""
        while True:
            page = await self._calls.unary(
                lambda channel: AutocompleteServiceStub(channel).ListDictionaries,
                ListDictionariesRequest(
                    name_prefix=prefix, page_size=numbers.PAGE_SIZE, page_token=token
                ),
            )
            for dictionary in page.dictionaries:
                yield dictionary.name
            token = page.next_page_token
            if not token:
                return

    async def server_info(self) -> ServerInfo:
        response = await self._calls.unary(
            lambda channel: ServerServiceStub(channel).GetServerInfo, GetServerInfoRequest()
        )
        return info_of(response)

    async def call(
        self,
        method: "Method[Request, Response]",
        request: Request,
        *,
        timeout: Optional[TimeSpan] = None,
        is_idempotent: bool = True,
    ) -> Response:
        """Any unary call of the contract, as `holdfast.Holdfast.call`."""
        return await self._calls.unary(
            method, request, timeout=timeout, is_idempotent=is_idempotent
        )

    def watch(
        self, method: "StreamMethod[Request, Response]", request: Request
    ) -> AsyncGenerator[Response, None]:
        """Any server stream of the contract, for example WatchLock. Reopened after a break."""
        return watch(self._calls, method, request)

    @property
    def lease_count(self) -> int:
        """The number of leases that this process holds."""
        return self._session.lease_count

    async def close(self) -> None:
        """Ends all waits and all leases, as `holdfast.Holdfast.close`."""
        if self._session.runtime.is_forked():
            return
        try:
            await future_of(self._session.close())
            await self._wires.closed()
        finally:
            # Also after a cancellation. The sessions then end in the background.
            await self._calls.close()
            await self._limits.close()

    async def _stop(self) -> None:
        """The process ends without `close`."""
        self._session.stop()
        await self._wires.closed()
        await self._calls.close()
        await self._limits.close()

    async def __aenter__(self) -> "Holdfast":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    def _acquiring(self, acquire: Acquire) -> Acquiring[Lease]:
        return Acquiring(self._session, acquire, self._limits, self._tracer, Lease)

    def _campaigning(self, acquire: Acquire) -> Acquiring[LeaderLease]:
        return Acquiring(self._session, acquire, self._limits, self._tracer, LeaderLease)


async def _unless_contended(acquiring: Acquiring[Lease]) -> Optional[Lease]:
    try:
        return await acquiring
    except ContendedError:
        return None
