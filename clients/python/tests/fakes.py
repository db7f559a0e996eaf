"""A clock, a runtime and streams that a test moves by hand."""

import logging
from typing import Callable, List, Optional

from holdfast._core.acquire_intent import Acquire, AcquireIntent
from holdfast._core.durations import duration
from holdfast._core.held_lease import HeldLease
from holdfast._core.news import News
from holdfast._core.runtime import WireReader
from holdfast._core.servers import Server, Servers
from holdfast._core.session_client import FetchToken, SessionClient, SessionSettings
from holdfast.errors import HoldfastError
from holdfast.v1 import lease_pb2
from holdfast.v1.session_service_pb2 import (
    CommandFailed,
    CommandQueued,
    LeaseEnded,
    LeaseGranted,
    LeaseReleased,
    LeaseRenewal,
    OpenSessionRequest,
    OpenSessionResponse,
    SessionCommand,
    SessionEvent,
    SessionLeaving,
    SessionStarted,
)


class FakeTimer:
    def __init__(self, at: float, run: Callable[[], None]) -> None:
        self.at = at
        self.run = run
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class FakeRuntime:
    def __init__(self) -> None:
        self.time = 1000.0
        self.is_child = False
        self._timers: List[FakeTimer] = []

    def now(self) -> float:
        return self.time

    def call_later(self, delay: float, run: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self.time + delay, run)
        self._timers.append(timer)
        return timer

    def call_soon(self, run: Callable[[], None]) -> None:
        self.call_later(0, run)

    def call_from_thread(self, run: Callable[[], None]) -> None:
        self.call_later(0, run)

    def is_forked(self) -> bool:
        return self.is_child

    @property
    def timer_count(self) -> int:
        return sum(not timer.is_cancelled for timer in self._timers)

    def pass_time(self, seconds: float = 0.0) -> None:
        """Fires the timers one after the other, each at its time."""
        end = self.time + seconds
        while True:
            due = [one for one in self._timers if not one.is_cancelled and one.at <= end]
            if not due:
                break
            timer = min(due, key=lambda one: one.at)
            self._timers.remove(timer)
            self.time = max(self.time, timer.at)
            timer.run()
        self.time = end

    def stop_process(self, seconds: float) -> None:
        """Time in which no timer fires."""
        self.time += seconds


class FakeWire:
    def __init__(self, address: str, token: Optional[str], reader: WireReader) -> None:
        self.address = address
        self.token = token
        self.reader = reader
        self.requests: List[OpenSessionRequest] = []
        self.is_half_closed = False
        self.is_destroyed = False

    def write(self, request: OpenSessionRequest, sent: Callable[[], None]) -> None:
        self.requests.append(request)
        sent()

    def half_close(self) -> None:
        self.is_half_closed = True

    def destroy(self) -> None:
        self.is_destroyed = True

    @property
    def commands(self) -> List[SessionCommand]:
        return [command for request in self.requests for command in request.commands]

    @property
    def heartbeat(self) -> int:
        return max(request.heartbeat_id for request in self.requests)

    def of_kind(self, kind: str) -> List[SessionCommand]:
        return [one for one in self.commands if one.WhichOneof("command") == kind]

    def start(self) -> None:
        started = SessionStarted(heartbeat_timeout=duration(15))
        self.answer(started=started, heartbeat_interval=duration(5))

    def answer(self, heartbeat: Optional[int] = None, **fields: object) -> None:
        number = self.heartbeat if heartbeat is None else heartbeat
        self.reader.response(OpenSessionResponse(heartbeat_id=number, **fields))  # type: ignore

    def grant(
        self, command: int, lease_id: str, offset: float = 30, ttl: float = 30, token: int = 1
    ) -> None:
        lease = lease_pb2.Lease(
            lease_id=lease_id,
            name="report",
            fencing_token=token,
            permit_count=1,
            ttl=duration(ttl),
            expire_offset=duration(offset),
        )
        self.tell(SessionEvent(command_id=command, granted=LeaseGranted(lease=lease)))

    def renew(self, number: int, offset: float, heartbeat: Optional[int] = None) -> None:
        renewal = LeaseRenewal(lease_number=number, expire_offset=duration(offset))
        self.answer(heartbeat, renewals=[renewal])

    def end(self, number: int, cause: int) -> None:
        ended = LeaseEnded(cause=cause)  # type: ignore[arg-type]
        self.tell(SessionEvent(command_id=number, ended=ended))

    def release(self, command: int, released: bool = True) -> None:
        answer = LeaseReleased(released=released)
        self.tell(SessionEvent(command_id=command, released=answer))

    def queue(self, command: int, position: int) -> None:
        place = CommandQueued(position=position, waiter_count=position)
        self.tell(SessionEvent(command_id=command, queued=place))

    def fail(self, command: int, reason: str, code: int = 14, retry: float = 0) -> None:
        delay = duration(retry) if retry else None
        failed = CommandFailed(code=code, reason_text=reason, message=reason, retry_delay=delay)
        self.tell(SessionEvent(command_id=command, failed=failed))

    def leave(self, delay: float) -> None:
        self.answer(leaving=SessionLeaving(retry_delay=duration(delay)))

    def tell(self, event: SessionEvent) -> None:
        self.answer(events=[event])

    def break_off(self, error: Optional[HoldfastError] = None) -> None:
        self.reader.ended(error)


class World:
    """A client over fake streams."""

    def __init__(self, *addresses: str, fetch_token: Optional[FetchToken] = None) -> None:
        self.runtime = FakeRuntime()
        self.wires: List[FakeWire] = []
        logger = logging.getLogger("holdfast.tests")
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
        settings = SessionSettings(
            servers=Servers(addresses or ("a:1", "b:1")),
            open_wire=self._open,
            news=News(logger),
            fetch_token=fetch_token,
            holder_id="worker",
        )
        self.client = SessionClient(settings, self.runtime)
        self.runtime.pass_time()

    @property
    def wire(self) -> FakeWire:
        return self.wires[-1]

    def started(self) -> "World":
        self.wire.start()
        return self

    def acquire(self, **fields: object) -> AcquireIntent:
        intent = self.client.acquire(Acquire(kind="lock", name="report", **fields))  # type: ignore
        self.runtime.pass_time()
        return intent

    def lease(self, lease_id: str = "id-1", ttl: float = 30, **fields: object) -> HeldLease:
        intent = self.acquire(**fields)
        self.wire.grant(intent.command_id, lease_id, ttl, ttl)
        assert intent.outcome.value is not None
        return intent.outcome.value

    def _open(self, server: Server, token: Optional[str], reader: WireReader) -> FakeWire:
        self.wires.append(FakeWire(server.given, token, reader))
        return self.wires[-1]
