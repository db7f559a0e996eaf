"""The releases without an answer."""

from typing import Callable, Dict, List, Optional, Set

from ..errors import HoldfastError
from . import numbers
from .held_lease import HeldLease, ReleaseAnswer
from .open_session import OpenSession
from .outcome import Outcome, rejected
from .release_task import ReleaseTask
from .repeats import Repeats
from .runtime import Runtime
from .timers import Timers


class Releases:
    def __init__(
        self,
        runtime: Runtime,
        timers: Timers,
        repeats: Repeats,
        on_answer: Callable[[], None],
        no_answer: Callable[[str, Optional[HoldfastError]], HoldfastError],
    ) -> None:
        self.runtime = runtime
        self.no_answer = no_answer
        #: The session that gets new commands.
        self.current: Optional[OpenSession] = None
        self._timers = timers
        self._repeats = repeats
        self._on_answer = on_answer
        self._tasks: Dict[str, ReleaseTask] = {}
        #: Leases that were held for too long. Their work may still run, and may end before
        #: their deadlines.
        self._held_too_long: Set[HeldLease] = set()
        self._failure: Optional[HoldfastError] = None

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def held_too_long(self) -> List[HeldLease]:
        return list(self._held_too_long)

    def move_to(self, session: OpenSession) -> None:
        self.current = session
        for task in self._tasks.values():
            task.place(session)

    def last_error(self, lease_id: str) -> Optional[HoldfastError]:
        task = self._tasks.get(lease_id)
        return None if task is None else task.last_error

    def release(self, lease_id: str, ttl: float) -> Outcome[ReleaseAnswer]:
        known = self._tasks.get(lease_id)
        if known is not None:
            return known.outcome
        if self._failure is not None:
            return rejected(self._failure)
        # The server may have renewed the lease just before, so its end may be a ttl later.
        task = ReleaseTask(lease_id, max(0.0, numbers.RELEASE_IS_REPEATED_FOR_TTLS * ttl), self)
        self._tasks[lease_id] = task
        if self.current is not None:
            task.place(self.current)
        return task.outcome

    def release_held(self, lease: HeldLease) -> Outcome[ReleaseAnswer]:
        """At the end of the work."""
        self._held_too_long.discard(lease)
        return self.release(lease.lease_id, lease.ttl)

    def release_at_deadline(self, lease: HeldLease) -> None:
        """Or at the end of the work, whichever is first."""

        def release() -> None:
            if lease in self._held_too_long:
                self.release_held(lease)

        self._held_too_long.add(lease)
        self._timers.later(max(0.0, lease.deadline - self.runtime.now()), release)

    def fail(self, error: HoldfastError) -> None:
        """No next session will come."""
        self._failure = error
        for task in list(self._tasks.values()):
            task.fail(error)

    def answered(self, task: ReleaseTask) -> None:
        self._tasks.pop(task.lease_id, None)
        self._on_answer()

    def repeat(self, task: ReleaseTask, error: HoldfastError, session: OpenSession) -> bool:
        def again() -> None:
            if task.home is session and task.lease_id in self._tasks:
                task.place(session)

        return self._repeats.later(task, error, session, again)
