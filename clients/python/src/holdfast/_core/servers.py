"""The servers of one store: whose turn it is."""

import ipaddress
import random
from itertools import zip_longest
from typing import Dict, List, NamedTuple, Optional, Sequence


class Server(NamedTuple):
    """One address of a server."""

    #: The "host:port" of the caller. A certificate must be valid for it.
    given: str
    #: The "ip:port" to connect to. Empty: gRPC looks the host up.
    address: str = ""

    def __str__(self) -> str:
        return f"{self.given} at {self.address}" if self.address else self.given


class Turn(NamedTuple):
    server: Server
    #: The addresses that were never taken before, this one included, or all after the first round.
    left: int


class HostName:
    """What one given address means."""

    def __init__(self, given: str) -> None:
        self.given = given
        self.host, _, self._port = given.rpartition(":")
        #: Those of the last look-up that has found any, in random order.
        self._addresses: List[str] = []

    def found(self, addresses: Sequence[str]) -> None:
        """A look-up that finds none leaves the addresses of the one before."""
        if addresses and set(addresses) != set(self._addresses):
            self._addresses = _mixed(addresses)

    @property
    def servers(self) -> List[Server]:
        if not self._addresses:
            # The error of gRPC says why the name is not found.
            return [Server(self.given)]
        return [
            Server(self.given, f"[{ip}]:{self._port}" if ":" in ip else f"{ip}:{self._port}")
            for ip in self._addresses
        ]


class Servers:
    """Each address of each name has its turn.

    A process that hangs still accepts connections, and gRPC would come back to it.
    """

    def __init__(self, addresses: Sequence[str], names: Optional[Sequence[HostName]] = None):
        self.names = names or [HostName(given) for given in addresses]
        #: The turn in which an address was last taken. Absent: never.
        self._turns: Dict[Server, int] = {}
        self._turn = 0

    def again(self) -> "Servers":
        """For other connections. Begins with the server that was taken last here."""
        other = Servers((), self.names)
        other._turns = {
            server: -1 if turn == self._turn else turn for server, turn in self._turns.items()
        }
        other._turn = self._turn
        return other

    def next(self) -> Turn:
        """The address that was not taken for the longest time."""
        turns = {server: self._turns.get(server, 0) for server in self._all()}
        server = min(turns, key=lambda one: turns[one])
        untaken = sum(turn == 0 for turn in turns.values())
        self._turn += 1
        turns[server] = self._turn
        self._turns = turns
        return Turn(server, untaken or len(turns))

    @property
    def count(self) -> int:
        """The number of known addresses."""
        return len(self._all())

    def _all(self) -> List[Server]:
        return [server for name in self.names for server in name.servers]


def _mixed(addresses: Sequence[str]) -> List[str]:
    """In random order, so that clients spread.

    The two families take turns and the resolver's first one stays first, because one of them may
    lead nowhere.
    """
    found = list(dict.fromkeys(addresses))
    first = _version(found[0])
    random.shuffle(found)
    ours = [ip for ip in found if _version(ip) == first]
    others = [ip for ip in found if _version(ip) != first]
    return [ip for pair in zip_longest(ours, others) for ip in pair if ip is not None]


def _version(ip: str) -> int:
    # Python before 3.9.5 does not know the zone of an address.
    return ipaddress.ip_address(ip.partition("%")[0]).version
