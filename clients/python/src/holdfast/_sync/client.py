"""The client for code with threads."""

import logging
import threading
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Generator, Mapping, Optional, Type, Union

from .._core import numbers
from .._core.acquire_intent import Acquire
from .._core.durations import TimeSpan
from .._options import Addresses, Tls, TokenOption
from .._requests import Requests
from .._server_info import ServerInfo
from ..aio._calls import Method, Request, Response
from ..aio._client import Holdfast as AioHoldfast
from ..aio._connect import connect as aio_connect
from ..aio._watch import StreamMethod
from ..errors import ContendedError
from .acquiring import Acquiring
from .dictionary import Dictionary
from .election import Election
from .lease import Lease
from .portal import Portal, harmless, portals
from .recents import Recents

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


def connect(
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
) -> "Holdfast":
    """Connects to one of several servers of the same store.

    `hf = connect("127.0.0.1:50051")`, or `with connect(...) as hf:`, which closes the client at
    the end. Raises a HoldfastError if no server answers in time, or if the servers refuse the
    client. All clients of a process share one background thread.

    addresses: "host:port", several as a list or with commas.
    tls: True for TLS with the certificate authorities of gRPC, or a Tls. Default: no TLS.
    token: a text, a TokenFile, or a function (plain or async) that gives a text or a BearerToken.
        A function has 10 s. Needs `tls`, unless all addresses are loopback addresses.
    allow_insecure_token: sends the token without TLS to other machines, where anybody on the way
        can use the token.
    holder_id: a label of this process that others see beside its leases.
    metadata: the metadata of each lease without metadata of its own.
    connect_timeout: the longest wait for the first answer of a server. Default: 10 s.
    logger: default: `logging.getLogger("holdfast")`.
    tracer: a tracer of OpenTelemetry. Default: no spans.
    """

    async def opened() -> AioHoldfast:
        return await connecting

    connecting = aio_connect(
        addresses,
        tls=tls,
        token=token,
        allow_insecure_token=allow_insecure_token,
        holder_id=holder_id,
        metadata=metadata,
        connect_timeout=connect_timeout,
        logger=logger,
        tracer=tracer,
    )
    portal = portals.take()
    try:
        return Holdfast(portal.run(opened()), portal)
    except BaseException:
        portals.give_back(portal)
        raise


class Holdfast(Requests[Acquiring[Lease]]):
    """A client of the servers of one store. `connect` makes it. Close it in the end.

    Any thread may use it.
    """

    def __init__(self, client: AioHoldfast, portal: Portal) -> None:
        self._client = client
        self._portal = portal
        # Reentrant, because the handler of a signal may close in the middle of a close.
        self._closing = threading.RLock()
        self._is_closed = False
        portal.stops.add(client._stop)

    def try_lock(
        self,
        name: str,
        *,
        ttl: Optional[TimeSpan] = None,
        shared: bool = False,
        max_hold: Optional[TimeSpan] = None,
        metadata: Optional[Mapping[str, str]] = None,
    ) -> Optional[Lease]:
        """Tries once. None: others hold the lock or wait for it."""
        return _unless_contended(
            self.lock(name, ttl=ttl, wait=0, shared=shared, max_hold=max_hold, metadata=metadata)
        )

    def try_permits(
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
        return _unless_contended(
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
        return Election(self._client.election(name), self._portal)

    def recents(self, name: str) -> Recents:
        """The latest choices of one user."""
        return Recents(self._client.recents(name), self._portal)

    def dictionary(self, name: str) -> Dictionary:
        return Dictionary(self._client.dictionary(name), self._portal)

    def dictionary_names(self, prefix: str = "") -> Generator[str, None, None]:
        """The names of all dictionaries with this prefix, in order."""
        return self._portal.iterate(self._client.dictionary_names(prefix))

    def server_info(self) -> ServerInfo:
        return self._portal.run(self._client.server_info())

    def call(
        self,
        method: "Method[Request, Response]",
        request: Request,
        *,
        timeout: Optional[TimeSpan] = None,
        is_idempotent: bool = True,
    ) -> Response:
        """Any unary call of the contract, for what this class does not offer.

        `hf.call(lambda channel: LockServiceStub(channel).GetLock, GetLockRequest(...))`, with the
        stub from holdfast.v1. Repeated within `timeout` (default: 10 s).
        """
        return self._portal.run(
            self._client.call(method, request, timeout=timeout, is_idempotent=is_idempotent)
        )

    def watch(
        self, method: "StreamMethod[Request, Response]", request: Request
    ) -> Generator[Response, None, None]:
        """Any server stream of the contract, for example WatchLock. Reopened after a break."""
        return self._portal.iterate(self._client.watch(method, request))

    @property
    def lease_count(self) -> int:
        """The number of leases that this process holds."""
        return self._client.lease_count

    def close(self) -> None:
        """Ends all waits, and all leases are lost with the cause CLOSED.

        A lease is released when its block of code has ended, at once without a block. Waits up to
        5 s for the blocks and the answers. The lease of a block that does not end in this time is
        left to the end of its ttl. A block whose lease was lost before is not waited for. End the
        work that needs a lease first. A process that ends without `close` leaves its leases to
        the ends of their ttl. In a forked child nothing happens.
        """
        if self._portal.is_forked():
            return
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
            try:
                self._portal.run(self._close())
            finally:
                portals.give_back(self._portal)

    async def _close(self) -> None:
        try:
            await self._client.close()
        finally:
            # After Ctrl-C the sessions end in the background, at the latest with the thread.
            stops, stop = self._portal.stops, self._client._stop
            self._client._session.close().then(lambda _: stops.discard(stop))

    def __enter__(self) -> "Holdfast":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _acquiring(self, acquire: Acquire) -> Acquiring[Lease]:
        if acquire.on_queued is not None:
            acquire = replace(acquire, on_queued=harmless(acquire.on_queued))
        return Acquiring(self._client._acquiring(acquire), self._portal, Lease)


def _unless_contended(acquiring: Acquiring[Lease]) -> Optional[Lease]:
    try:
        return acquiring.acquire()
    except ContendedError:
        return None
