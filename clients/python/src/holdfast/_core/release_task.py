"""One release, by `lease_id`."""

from typing import Callable, Optional, Protocol

from ..errors import HoldfastError
from ..v1.session_service_pb2 import ReleaseCommand, SessionCommand, SessionEvent
from .held_lease import ReleaseAnswer
from .open_session import CommandOwner, OpenSession, Receipt
from .outcome import Outcome
from .runtime import Runtime
from .status import error_of_command


class ReleaseKeeper(Protocol):
    runtime: Runtime
    #: Makes the error of a release without an answer, from a text and the last error.
    no_answer: Callable[[str, Optional[HoldfastError]], HoldfastError]

    def answered(self, task: "ReleaseTask") -> None: ...

    def repeat(self, task: "ReleaseTask", error: HoldfastError, session: OpenSession) -> bool:
        """Repeats the release after a pause. False: the error is final."""


class ReleaseTask(CommandOwner):
    """Repeated in each next session until the answer comes.

    Or until the lease has ended by its ttl, so that nobody needs the release any more.
    """

    def __init__(self, lease_id: str, until: float, keeper: ReleaseKeeper) -> None:
        """until: the time until the lease has surely ended (seconds)."""
        self.lease_id = lease_id
        self.outcome: Outcome[ReleaseAnswer] = Outcome()
        self.home: Optional[OpenSession] = None
        self.attempts = 0
        self._keeper = keeper
        #: Why the last attempt was repeated.
        self.last_error: Optional[HoldfastError] = None
        self._timer = keeper.runtime.call_later(until, self._late)

    def place(self, session: OpenSession) -> None:
        self.home = session
        release = ReleaseCommand(lease_id=self.lease_id)
        session.run(SessionCommand(release=release), self)

    def fail(self, error: HoldfastError) -> None:
        self._timer.cancel()
        self._keeper.answered(self)
        self.outcome.reject(error)

    def event(
        self, event: SessionEvent, receipt: Receipt, session: OpenSession
    ) -> Optional[CommandOwner]:
        kind = event.WhichOneof("event")
        if kind == "released":
            self._timer.cancel()
            self._keeper.answered(self)
            released = event.released
            self.outcome.resolve(ReleaseAnswer(released.released, released.loss_cause))
        elif kind == "failed" and self.home is session:
            error = error_of_command(event.failed)
            self.last_error = error
            if not self._keeper.repeat(self, error, session):
                self.fail(error)
        return None

    def _late(self) -> None:
        text = "no server answered the release in time"
        self.fail(self._keeper.no_answer(text, self.last_error))
