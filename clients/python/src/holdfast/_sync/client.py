"""The client for code with threads."""

import logging
from types import TracebackType
from typing import TYPE_CHECKING, Generator, Mapping, Optional, Type, Union

from .._acquires import OnQueued
from .._core import numbers
from .._core.durations import TimeSpan
from .._options import Addresses, Tls, TokenOption
from .._server_info import ServerInfo
from ..aio._acquiring import Acquiring as AioAcquiring
from ..aio._calls import Method, Request, Response
from ..aio._client import Holdfast as AioHoldfast
from ..aio._connect import connect as aio_connect
from ..aio._watch import StreamMethod
from ..errors import ContendedError
from .acquiring import Acquiring
from .dictionary import Dictionary
from .election import Election
from .lease import Lease
from .portal import Portal, portals
from .recents import Recents

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


def connect(
    addresses: Addresses,
    *,
    tls: Union[Tls, bool] = False,
    token: Optional[TokenOption] = None,
    holder_id: str = "",
    metadata: Optional[Mapping[str, str]] = None,
    connect_timeout: TimeSpan = numbers.CONNECT,
    logger: Optional[logging.Logger] = None,
    tracer: "Optional[Tracer]" = None,
) -> "Holdfast":
    """Connects to one of several servers of the same store.

    `hf = connect("127.0.0.1:50051")`, or `with connect(...) as hf:`, which closes the client at
    the end. Raises a HoldfastError if no server answers in time, or if the servers refuse the
    credential. All clients of a process share one background thread.

    addresses: "host:port", several as a list or with commas.
    tls: True for TLS with the certificate authorities of gRPC, or a Tls. Default: no TLS.
    token: a text, a TokenFile, or a function (plain or async) that gives a text or a BearerToken.
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


class Holdfast:
    """A client of the servers of one store. `connect` makes it. Close it in the end.

    Any thread may use it.
    """

    def __init__(self, client: AioHoldfast, portal: Portal) -> None:
        self._client = client
        self._portal = portal
        self._is_closed = False

    def lock(
        self,
        name: str,
        *,
        ttl: Optional[TimeSpan] = None,
        wait: Optional[TimeSpan] = None,
        shared: bool = False,
        max_hold: Optional[TimeSpan] = None,
        metadata: Optional[Mapping[str, str]] = None,
        on_queued: Optional[OnQueued] = None,
    ) -> Acquiring:
        """A lock: `with hf.lock("report") as lease:`, or `lease = hf.lock("report").acquire()`.

        All times are seconds, or a timedelta.

        ttl: the lease ends so long after this process vanishes. The client renews the lease long
            before. Default: the server's, 30 s. Range: 100 ms to 2 min, as the server allows.
        wait: the longest wait in the queue. Default: without a bound.
        shared: holders of a shared lock hold it together.
        max_hold: the longest time to hold the lease. Afterwards it counts as lost, with the cause
            MAX_HOLD, and is released when the work has ended or the deadline has passed.
            Heartbeats prove that the process runs, this option catches work that hangs.
        metadata: texts that others see beside the lease.
        on_queued: told the place in the queue while the request waits, at most every 2 s. Called
            in the thread of the client, and must not block.

        Raises a ContendedError after `wait`, and other HoldfastErrors.
        """
        return self._acquiring(
            self._client.lock(
                name,
                ttl=ttl,
                wait=wait,
                shared=shared,
                max_hold=max_hold,
                metadata=metadata,
                on_queued=on_queued,
            )
        )

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

    def permits(
        self,
        name: str,
        permits: int = 1,
        *,
        limit: Optional[int] = None,
        ttl: Optional[TimeSpan] = None,
        wait: Optional[TimeSpan] = None,
        max_hold: Optional[TimeSpan] = None,
        metadata: Optional[Mapping[str, str]] = None,
        on_queued: Optional[OnQueued] = None,
    ) -> Acquiring:
        """Permits of a semaphore, as `lock`.

        limit: the limit of a semaphore that does not exist yet. An existing one keeps its limit.
        """
        return self._acquiring(
            self._client.permits(
                name,
                permits,
                limit=limit,
                ttl=ttl,
                wait=wait,
                max_hold=max_hold,
                metadata=metadata,
                on_queued=on_queued,
            )
        )

    def try_permits(
        self,
        name: str,
        permits: int = 1,
        *,
        limit: Optional[int] = None,
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
        """Ends all waits, releases all leases, and waits up to 5 s for the answers.

        End the work that needs a lease first. A process that ends without `close` leaves its
        leases to the ends of their ttl. In a forked child nothing happens.
        """
        if self._is_closed or self._portal.is_forked():
            return
        self._is_closed = True
        try:
            self._portal.run(self._client.close())
        finally:
            portals.give_back(self._portal)

    def __enter__(self) -> "Holdfast":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _acquiring(self, acquiring: AioAcquiring) -> Acquiring:
        return Acquiring(acquiring, self._portal)


def _unless_contended(acquiring: Acquiring) -> Optional[Lease]:
    try:
        return acquiring.acquire()
    except ContendedError:
        return None
