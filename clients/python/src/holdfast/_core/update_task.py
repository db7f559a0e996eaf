"""One update of metadata."""

from typing import Callable, Mapping, Optional

from ..errors import HoldfastError, no_answer
from ..v1.lease_pb2 import MetadataUpdate
from ..v1.session_service_pb2 import SessionCommand, SessionEvent, UpdateCommand
from . import numbers
from .held_lease import HeldLease
from .open_session import CommandOwner, OpenSession, Receipt
from .outcome import Outcome
from .runtime import Runtime
from .status import error_of_command


class UpdateTask(CommandOwner):
    """Repeated after each attach, because a `lease_number` is valid in one session only."""

    def __init__(
        self,
        lease: HeldLease,
        metadata: Mapping[str, str],
        runtime: Runtime,
        repeat: Callable[["UpdateTask", HoldfastError, OpenSession], bool],
    ) -> None:
        """repeat: repeats the update after a pause. False: the error is final."""
        self.outcome: Outcome[None] = Outcome()
        self.attempts = 0
        self._lease = lease
        self._metadata = dict(metadata)
        self._repeat = repeat
        #: Why the last attempt was repeated.
        self._last_error: Optional[HoldfastError] = None
        timer = runtime.call_later(numbers.CALL, self._late)
        self.outcome.then(lambda _: timer.cancel())

    def place(self) -> None:
        """Sends the update if the lease is in a session. Otherwise the attach's answer does."""
        home, number = self._lease.home, self._lease.number
        if home is None or number is None:
            return
        entries = MetadataUpdate(entries=self._metadata)
        update = UpdateCommand(lease_number=number, metadata_update=entries)
        home.run(SessionCommand(update=update), self)

    def reject(self, error: BaseException) -> None:
        self._lease.update = None
        self.outcome.reject(error)

    def event(
        self, event: SessionEvent, receipt: Receipt, session: OpenSession
    ) -> Optional[CommandOwner]:
        kind = event.WhichOneof("event")
        if self._lease.update is not self:
            return None
        if kind == "updated":
            self._lease.update = None
            self.outcome.resolve(None)
        elif kind == "failed" and self._lease.home is session:
            error = error_of_command(event.failed)
            self._last_error = error
            if not self._repeat(self, error, session):
                self.reject(error)
        return None

    def _late(self) -> None:
        self.reject(no_answer("no server answered the update in time", self._last_error))
