"""One update of metadata."""

import json
from typing import Mapping, Optional

from ..errors import HoldfastError
from ..v1.lease_pb2 import MetadataUpdate
from ..v1.session_service_pb2 import SessionCommand, SessionEvent, UpdateCommand
from . import numbers
from .held_lease import HeldLease, MetadataChange
from .open_session import CommandOwner, OpenSession, Receipt
from .outcome import Outcome, rejected
from .repeats import Repeats
from .runtime import Runtime
from .status import error_of_command
from .texts import checked_metadata

#: A timer may be early by the resolution of the clock (seconds).
_RESOLUTION = 0.001


class UpdateTask(CommandOwner):
    """Repeated after each attach, because a `lease_number` is valid in one session only.

    Given up after the time of a call, in which the wait for the turn counts.
    """

    def __init__(
        self,
        lease: HeldLease,
        change: MetadataChange,
        runtime: Runtime,
        repeats: Repeats,
    ) -> None:
        self.outcome: Outcome[None] = Outcome()
        self.attempts = 0
        self._lease = lease
        self._change = change
        self._metadata: Mapping[str, str] = {}
        self._repeats = repeats
        #: Why the last attempt was repeated.
        self._last_error: Optional[HoldfastError] = None
        self._runtime = runtime
        self._until = runtime.now() + numbers.CALL - _RESOLUTION
        timer = runtime.call_later(numbers.CALL, self._late)
        self.outcome.then(lambda _: timer.cancel())

    def begin(self) -> bool:
        """The turn of the update has come. False: the update has ended, and was not sent."""
        if self._runtime.now() >= self._until:
            self.outcome.reject(self._no_answer())
            return False
        try:
            self._metadata = checked_metadata(self._change())
        except (TypeError, ValueError) as error:
            self.outcome.reject(error)
            return False
        self.place()
        return True

    def place(self) -> None:
        """Sends the update if the lease is in a session. Otherwise the attach's answer does."""
        home, number = self._lease.home, self._lease.number
        if home is None or number is None:
            return
        entries = MetadataUpdate(entries=self._metadata)
        update = UpdateCommand(lease_number=number, metadata_update=entries)
        home.run(SessionCommand(update=update), self)

    def reject(self, error: BaseException) -> None:
        self.outcome.reject(error)
        self._end()

    def event(
        self, event: SessionEvent, receipt: Receipt, session: OpenSession
    ) -> Optional[CommandOwner]:
        kind = event.WhichOneof("event")
        if not self._is_first():
            return None
        if kind == "updated":
            self._lease.keep(self._metadata)
            self.outcome.resolve(None)
            self._end()
        elif kind == "failed" and self._lease.home is session:
            error = error_of_command(event.failed)
            self._last_error = error
            if not self._repeats.later(self, error, session, lambda: self._again(session)):
                self.reject(error)
        return None

    def _again(self, session: OpenSession) -> None:
        if self._is_first() and self._lease.home is session:
            self.place()

    def _is_first(self) -> bool:
        return self._lease.updates[:1] == [self]

    def _end(self) -> None:
        """The next update has the turn."""
        was_first = self._is_first()
        if self in self._lease.updates:
            self._lease.updates.remove(self)
        if was_first:
            begin_first(self._lease)

    def _late(self) -> None:
        self.reject(self._no_answer())

    def _no_answer(self) -> HoldfastError:
        text = f"no server answered the update of {json.dumps(self._lease.name)} in time"
        return self._lease.no_answer(text, self._last_error)


def begin_first(lease: HeldLease) -> None:
    while lease.updates and not lease.updates[0].begin():
        lease.updates.pop(0)


def start_update(
    lease: HeldLease, change: MetadataChange, runtime: Runtime, repeats: Repeats
) -> Outcome[None]:
    cause = lease.cause
    if cause is not None:
        return rejected(lease.lost(cause))
    update = UpdateTask(lease, change, runtime, repeats)
    lease.updates.append(update)
    if len(lease.updates) == 1:
        begin_first(lease)
    return update.outcome
