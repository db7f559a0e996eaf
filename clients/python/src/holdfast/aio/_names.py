"""Looks up what the names of servers mean."""

import asyncio
import ipaddress
import os
import socket
import threading
from typing import Callable, Dict, List, Sequence, Set

from .._core import clock
from .._core.outcome import Outcome
from .._core.servers import HostName
from .._options import is_loopback

#: The longest wait of a connection for the look-up of a name (seconds).
_LOOKUP = 1.0

LookUp = Callable[[str], Sequence[str]]


def _addresses_of(host: str) -> List[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class Names:
    """The look-ups of one client, one at a time for each name.

    Nothing cancels one, so a late one serves a later connection.
    """

    def __init__(self, names: Sequence[HostName], look_up: LookUp = _addresses_of) -> None:
        self._names = names
        self._look_up = look_up
        self._running: Dict[HostName, asyncio.Future[None]] = {}
        self._started_at: Dict[HostName, float] = {}
        self._tasks: Set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def looked_up(self, longest: float = _LOOKUP) -> None:
        """Looks all names up anew.

        Waits for at most 1 s, and for no look-up that has kept a connection waiting before. One
        that fails or is late leaves the addresses of the one before.
        """
        names = [name for name in self._names if _is_looked_up(name)]
        if not names or self._is_closed:
            return
        for name in names:
            if name not in self._running:
                self._begin(name)
        latest = max(self._started_at[name] for name in names)
        left = min(longest, latest + _LOOKUP - clock.now())
        if left > 0:
            await asyncio.wait([self._running[name] for name in names], timeout=left)

    def fetch(self) -> Outcome[None]:
        """The look-ups as the engine wants them."""
        outcome: Outcome[None] = Outcome()

        async def run() -> None:
            await self.looked_up()
            outcome.resolve(None)

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return outcome

    async def close(self) -> None:
        """Ends all waits. A look-up that hangs keeps its thread."""
        self._is_closed = True
        for ended in list(self._running.values()):
            if not ended.done():
                ended.set_result(None)
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _begin(self, name: HostName) -> None:
        """In a thread of its own, because a thread of a pool would outlive the client."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def tell(found: Sequence[str]) -> None:
            del self._running[name]
            name.found(found)
            if not ended.done():
                ended.set_result(None)

        def work() -> None:
            found: Sequence[str] = ()
            try:
                found = self._look_up(name.host)
            except (OSError, UnicodeError):
                pass  # The addresses found last may still be right.
            try:
                loop.call_soon_threadsafe(tell, found)
            except RuntimeError:
                pass  # The loop is closed, so nobody waits.

        threading.Thread(target=work, name="holdfast-names", daemon=True).start()
        self._running[name] = ended
        self._started_at[name] = clock.now()


def _is_looked_up(name: HostName) -> bool:
    """Both addresses of localhost are those of one server, and a proxy looks names up itself."""
    if name.host.startswith("[") or is_loopback(name.given) or _is_proxied(name.host):
        return False
    try:
        ipaddress.ip_address(name.host)
    except ValueError:
        return "/" not in name.given and ":" not in name.host
    return False


def _is_proxied(host: str) -> bool:
    """The variables are those of gRPC."""
    names = ("grpc_proxy", "https_proxy", "http_proxy")
    if not any(os.environ.get(name) for name in names):
        return False
    direct = os.environ.get("no_grpc_proxy") or os.environ.get("no_proxy") or ""
    endings = [ending.strip() for ending in direct.split(",")]
    return not any(ending and host.endswith(ending) for ending in endings)
