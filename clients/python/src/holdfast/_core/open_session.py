"""One stream: heartbeats, the order of commands, and whom an event concerns."""

from collections import deque
from typing import Callable, Deque, Dict, List, NamedTuple, Optional, Protocol, Set

from ..errors import HoldfastError
from ..v1.session_service_pb2 import (
    LeaseRenewal,
    OpenSessionRequest,
    OpenSessionResponse,
    SessionCommand,
    SessionEvent,
    SessionStart,
    SessionStarted,
)
from . import numbers
from .durations import seconds_of
from .heartbeat_plan import HeartbeatPlan
from .heartbeat_record import HeartbeatRecord
from .runtime import OpenWire, Runtime, Timer, Wire
from .servers import Server

#: The bytes of a command in a message, beside the command itself.
_FRAME_BYTES = 8

_CONTINUED = frozenset(["queued", "renewal_failed"])


class Receipt(NamedTuple):
    """The times of a response, on the own clock."""

    #: The send of the heartbeat that the response names.
    t0: float
    at: float


class CommandOwner:
    """The owner of a command, and later of its lease."""

    @property
    def is_over(self) -> bool:
        """True: the command is not sent any more, if it waits."""
        return False

    def event(
        self, event: SessionEvent, receipt: Receipt, session: "OpenSession"
    ) -> Optional["CommandOwner"]:
        """Returns the owner of the lease after `granted`. Otherwise None."""
        raise NotImplementedError

    def renewed(self, renewal: LeaseRenewal, receipt: Receipt) -> None:
        """The lease of the command was renewed."""


class SessionKeeper(Protocol):
    """The client that opened the session."""

    runtime: Runtime

    @property
    def shortest_ttl(self) -> float: ...

    def started(self, session: "OpenSession") -> None: ...

    def leaving(self, session: "OpenSession", delay: float) -> None: ...

    def quiet(self, session: "OpenSession") -> None:
        """Every command has its answer, and every lease has ended here."""

    def ended(self, session: "OpenSession", error: Optional[HoldfastError], silent: bool) -> None:
        """Called once. The session has left by itself if `silent` is true."""


class OpenSession:
    def __init__(
        self,
        server: Server,
        token: Optional[str],
        start: SessionStart,
        open_wire: OpenWire,
        keeper: SessionKeeper,
        first_answer: float,
    ) -> None:
        #: For logs and errors.
        self.address = str(server)
        self.number: int = start.session_number
        self.is_started = False
        #: The server has asked the client to leave, so new acquires go to the next session.
        self.is_leaving = False
        self._keeper = keeper
        self._runtime = keeper.runtime
        self._start: Optional[SessionStart] = start
        self._record = HeartbeatRecord()
        self._plan = HeartbeatPlan(first_answer)
        self._owners: Dict[int, CommandOwner] = {}
        self._attaches: Set[int] = set()
        self._queue: Deque[SessionCommand] = deque()
        self._last_command_id = 0
        self._max_commands = numbers.MAX_COMMANDS_IN_MESSAGE
        self._max_bytes = numbers.MAX_MESSAGE_BYTES
        self._timer: Optional[Timer] = None
        self._is_writing = False
        self._is_flush_due = False
        self._is_half_closed = False
        self._is_closed = False
        self._wire: Wire = open_wire(server, token, self)
        self._flush_soon()

    @property
    def open_count(self) -> int:
        """The number of commands without an answer, and of leases that have not ended here."""
        return len(self._owners)

    def run(self, command: SessionCommand, owner: Optional[CommandOwner]) -> int:
        """Sends a command with the other commands of this moment. Returns its id."""
        self._last_command_id += 1
        command.command_id = self._last_command_id
        if not self._is_closed and not self._is_half_closed:
            self._queue.append(command)
            if owner is not None:
                self._owners[command.command_id] = owner
            self._flush_soon()
        return command.command_id

    def plan_heartbeat(self) -> None:
        """A shorter ttl needs earlier heartbeats."""
        if self._is_closed or self._is_half_closed or self._start is not None:
            return
        self._cancel_timer()
        planned_at = self._plan.wake_at(
            self._record.last_sent_at, self._record.unanswered_since, self._keeper.shortest_ttl
        )
        delay = max(0.0, planned_at - self._runtime.now())
        self._timer = self._runtime.call_later(delay, lambda: self._wake(planned_at))

    def half_close(self) -> None:
        """Ends the stream in order. The server answers with the end of the stream."""
        if self._is_closed or self._is_half_closed or self._runtime.is_forked():
            return
        self._is_half_closed = True
        self._cancel_timer()
        self._timer = self._runtime.call_later(numbers.HALF_CLOSE, self.leave)
        self._wire.half_close()

    def leave(self) -> None:
        """Ends the stream without a word. The leases continue to the ends of their ttl."""
        self._finish(None, silent=True)

    def response(self, response: OpenSessionResponse) -> None:
        if self._is_closed or self._runtime.is_forked():
            return
        t0 = self._record.answer(response.heartbeat_id)
        if t0 is None:
            return self.leave()
        if response.HasField("started"):
            self._take_bounds(response.started)
            self._keeper.started(self)
        if response.HasField("heartbeat_interval"):
            self._plan.change_interval(seconds_of(response.heartbeat_interval))
        receipt = Receipt(t0, self._runtime.now())
        for event in response.events:
            self._tell(event, receipt)
        for renewal in response.renewals:
            owner = self._owners.get(renewal.lease_number)
            if owner is not None:
                owner.renewed(renewal, receipt)
        if response.HasField("leaving") and not self.is_leaving:
            self.is_leaving = True
            self._keeper.leaving(self, max(0.0, seconds_of(response.leaving.retry_delay)))
        self.plan_heartbeat()
        if not self._owners:
            self._keeper.quiet(self)

    def ended(self, error: Optional[HoldfastError]) -> None:
        self._finish(error, silent=False)

    def _take_bounds(self, started: SessionStarted) -> None:
        self.is_started = True
        has_timeout = started.HasField("heartbeat_timeout")
        self._plan.started(seconds_of(started.heartbeat_timeout) if has_timeout else None)
        self._max_commands = min(
            self._max_commands, started.max_command_count or self._max_commands
        )
        self._max_bytes = min(self._max_bytes, started.max_message_bytes or self._max_bytes)

    def _tell(self, event: SessionEvent, receipt: Receipt) -> None:
        command_id = event.command_id
        kind = event.WhichOneof("event")
        owner = self._owners.get(command_id)
        # A kind of event that this client does not know ends no command and no lease.
        if owner is None or kind is None:
            return
        if kind not in _CONTINUED:
            del self._owners[command_id]
            if command_id in self._attaches:
                self._attaches.remove(command_id)
                self._flush_soon()
        successor = owner.event(event, receipt, self)
        if successor is not None:
            self._owners[command_id] = successor

    def _wake(self, planned_at: float) -> None:
        if self._runtime.is_forked():
            return
        now, ttl = self._runtime.now(), self._keeper.shortest_ttl
        self._plan.woke(planned_at, now, ttl)
        if self._plan.is_silent(now, self._record.unanswered_since, ttl):
            return self.leave()
        if now >= self._record.last_sent_at + self._plan.period(ttl):
            self._heartbeat([])
        self.plan_heartbeat()

    def _heartbeat(self, commands: List[SessionCommand]) -> None:
        start, self._start = self._start, None
        heartbeat_id = self._record.send(self._runtime.now())
        request = OpenSessionRequest(start=start, heartbeat_id=heartbeat_id, commands=commands)
        self._write(request, lambda: None)

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            self._runtime.call_soon(self._flush_now)

    def _flush_now(self) -> None:
        self._is_flush_due = False
        self._flush()

    def _flush(self) -> None:
        """The next message waits until the stream has taken the one before.

        So few messages lie in memory.
        """
        if self._is_closed or self._is_half_closed:
            return
        if self._start is not None:
            self._heartbeat(self._next_commands())
            self.plan_heartbeat()
        if self._is_writing:
            return
        commands = self._next_commands()
        if commands:
            self._is_writing = True
            self._write(OpenSessionRequest(commands=commands), self._written)

    def _written(self) -> None:
        self._is_writing = False
        self._flush()

    def _write(self, request: OpenSessionRequest, sent: Callable[[], None]) -> None:
        if not self._runtime.is_forked():
            self._wire.write(request, sent)

    def _next_commands(self) -> List[SessionCommand]:
        commands: List[SessionCommand] = []
        size = 0
        while self._queue and len(commands) < self._max_commands:
            command = self._queue[0]
            number = command.command_id
            owner = self._owners.get(number)
            if owner is not None and owner.is_over:
                del self._owners[number]
                self._queue.popleft()
                continue
            is_attach = command.HasField("attach")
            if is_attach and len(self._attaches) >= numbers.MAX_ATTACHES_UNANSWERED:
                break
            size += command.ByteSize() + _FRAME_BYTES
            if commands and size > self._max_bytes * numbers.COMMANDS_SHARE_OF_MESSAGE:
                break
            if is_attach:
                self._attaches.add(number)
            commands.append(command)
            self._queue.popleft()
        return commands

    def _finish(self, error: Optional[HoldfastError], silent: bool) -> None:
        if self._is_closed or self._runtime.is_forked():
            return
        self._is_closed = True
        self._cancel_timer()
        self._queue.clear()
        self._owners.clear()
        self._wire.destroy()
        self._keeper.ended(self, error, silent)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
