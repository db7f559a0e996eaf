"""What the engine needs of the world around it."""

from typing import Callable, Optional, Protocol

from ..errors import HoldfastError
from ..v1.session_service_pb2 import OpenSessionRequest, OpenSessionResponse
from .servers import Server


class Timer(Protocol):
    def cancel(self) -> None: ...


class Runtime(Protocol):
    """A clock, and timers of the thread that runs the engine."""

    def now(self) -> float:
        """The own monotonic clock (seconds). Any thread may ask."""

    def call_later(self, delay: float, run: Callable[[], None]) -> Timer: ...

    def call_soon(self, run: Callable[[], None]) -> None:
        """After the other work of this moment."""

    def call_from_thread(self, run: Callable[[], None]) -> None:
        """From any thread. Without effect if the engine no longer runs."""

    def is_forked(self) -> bool:
        """Whether this is a forked child of the process that made the engine."""


class Wire(Protocol):
    """One stream of OpenSession on a connection of its own."""

    def write(self, request: OpenSessionRequest, sent: Callable[[], None]) -> None:
        """`sent` is called when the stream takes the next message."""

    def half_close(self) -> None: ...

    def destroy(self) -> None:
        """Ends stream and connection."""


class WireReader(Protocol):
    def response(self, response: OpenSessionResponse) -> None: ...

    def ended(self, error: Optional[HoldfastError]) -> None:
        """Called at most once. None: the stream ended with status OK."""


#: Opens a stream to a server, with a bearer token. Raises a HoldfastError if a certificate
#: cannot be read.
OpenWire = Callable[[Server, Optional[str], WireReader], Wire]
