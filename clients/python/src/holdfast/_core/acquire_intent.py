"""The intent to hold one lease."""

import uuid
from dataclasses import dataclass, field
from typing import Callable, Mapping, Optional, Protocol

from google.protobuf.duration_pb2 import Duration

from ..errors import HoldfastError
from ..v1 import lease_pb2
from ..v1.lease_pb2 import Holder, LockMode
from ..v1.lock_service_pb2 import AcquireLockRequest
from ..v1.semaphore_service_pb2 import AcquirePermitsRequest
from ..v1.session_service_pb2 import CommandFailed, SessionCommand, SessionEvent
from . import numbers
from .durations import duration
from .held_lease import HeldLease
from .news import News
from .open_session import CommandOwner, OpenSession, Receipt
from .outcome import Outcome
from .runtime import Runtime, Timer
from .texts import checked_metadata, checked_text


@dataclass(frozen=True)
class QueuePlace:
    """The place of a request that waits."""

    #: The first waiter has position 1.
    position: int
    waiter_count: int
    #: A present holder. None: nobody at this moment, or the caller may not read the name.
    holder: Optional[Holder]


@dataclass(frozen=True)
class Acquire:
    """What to acquire, without the fields that change from one attempt to the next."""

    #: `lock` or `permits`.
    kind: str
    name: str
    ttl: Optional[float] = None
    #: 0: try once. None: until the caller gives up.
    wait: Optional[float] = None
    max_hold: Optional[float] = None
    metadata: Optional[Mapping[str, str]] = None
    #: Entries of the metadata that an update without them keeps.
    kept: Mapping[str, str] = field(default_factory=dict)
    on_queued: Optional[Callable[[QueuePlace], object]] = None
    #: Only of a lock.
    mode: "LockMode.ValueType" = LockMode.LOCK_MODE_UNSPECIFIED
    #: Only of permits.
    permit_count: Optional[int] = None
    initial_limit: Optional[int] = None
    exact_limit: bool = False

    def __post_init__(self) -> None:
        checked_text(self.name, "name")
        checked_metadata(self.metadata or {})


class IntentKeeper(Protocol):
    """What an intent asks of the client."""

    runtime: Runtime
    news: News

    def granted(
        self,
        intent: "AcquireIntent",
        message: lease_pb2.Lease,
        receipt: Receipt,
        session: OpenSession,
        number: int,
    ) -> Optional[CommandOwner]: ...

    def cancelled(self, intent: "AcquireIntent") -> None: ...

    def failed(
        self, intent: "AcquireIntent", failed: CommandFailed, session: OpenSession
    ) -> None: ...

    def without_answer(self, intent: "AcquireIntent") -> None: ...

    def forget(self, intent: "AcquireIntent") -> None: ...


class AcquireIntent(CommandOwner):
    """Repeated by the same `request_id` in each next session, until the intent has an answer."""

    def __init__(self, acquire: Acquire, keeper: IntentKeeper) -> None:
        self.acquire = acquire
        self.outcome: Outcome[HeldLease] = Outcome()
        #: The latest session that was sent the command. Older sessions do not speak for it.
        self.home: Optional[OpenSession] = None
        self.command_id = 0
        #: The number of failed attempts in a row.
        self.attempts = 0
        #: Why the last attempt was repeated. None: the request waits in the queue.
        self.last_error: Optional[HoldfastError] = None
        #: The latest attempt has failed, and the next one is not sent yet.
        self.is_pausing = False
        #: The lease after the grant.
        self.lease: Optional[HeldLease] = None
        #: The caller does not want the lease any more. A late grant is released.
        self.is_abandoned = False
        self._keeper = keeper
        self._request_id = str(uuid.uuid4())
        self._is_second_id = False
        self._started_at = keeper.runtime.now()
        self._timer: Optional[Timer] = None
        if acquire.wait is not None:
            bound = acquire.wait + numbers.ANSWER_AFTER_WAIT
            self._timer = keeper.runtime.call_later(bound, lambda: keeper.without_answer(self))

    def resolve(self, lease: HeldLease) -> None:
        self.stop_timer()
        self.outcome.resolve(lease)

    def reject(self, error: BaseException) -> None:
        self.stop_timer()
        self.outcome.reject(error)

    def abandon(self, error: BaseException) -> None:
        """The caller hears at once. A grant under way ends by its ttl, if nobody releases it."""
        self.is_abandoned = True
        self.reject(error)
        life = self.acquire.ttl or numbers.LONGEST_TTL
        self._timer = self._keeper.runtime.call_later(life, self._forget)

    def take_new_id(self) -> bool:
        """Takes a new `request_id`, because the lease of the old one has ended unseen.

        False: that has happened before.
        """
        if self._is_second_id or self.is_abandoned:
            return False
        self._is_second_id = True
        self._request_id = str(uuid.uuid4())
        return True

    def command(self) -> SessionCommand:
        acquire = self.acquire
        ttl, wait = _optional_duration(acquire.ttl), _optional_duration(self._left())
        if acquire.kind == "lock":
            lock = AcquireLockRequest(
                name=acquire.name,
                request_id=self._request_id,
                ttl=ttl,
                wait_timeout=wait,
                metadata=acquire.metadata,
                mode=acquire.mode,
            )
            return SessionCommand(acquire_lock=lock)
        permits = AcquirePermitsRequest(
            name=acquire.name,
            request_id=self._request_id,
            ttl=ttl,
            wait_timeout=wait,
            metadata=acquire.metadata,
            permit_count=acquire.permit_count,
            initial_limit=acquire.initial_limit,
        )
        return SessionCommand(acquire_permits=permits)

    def event(
        self, event: SessionEvent, receipt: Receipt, session: OpenSession
    ) -> Optional[CommandOwner]:
        kind = event.WhichOneof("event")
        if kind == "granted":
            lease = event.granted.lease
            return self._keeper.granted(self, lease, receipt, session, event.command_id)
        if kind == "queued":
            self._queued(event)
        elif kind == "cancelled":
            self._keeper.cancelled(self)
        elif kind == "failed":
            self._keeper.failed(self, event.failed, session)
        return None

    def _queued(self, event: SessionEvent) -> None:
        self.last_error = None
        on_queued = self.acquire.on_queued
        if on_queued is None or self.is_abandoned or self.outcome.is_settled:
            return
        queued = event.queued
        holder = queued.holder if queued.HasField("holder") else None
        place = QueuePlace(queued.position, queued.waiter_count, holder)
        self._keeper.runtime.call_soon(lambda: self._call(on_queued, place))

    def _call(self, on_queued: Callable[[QueuePlace], object], place: QueuePlace) -> None:
        try:
            on_queued(place)
        except Exception as error:
            self._keeper.news.raised(error)

    def _forget(self) -> None:
        self._keeper.forget(self)

    def _left(self) -> Optional[float]:
        if self.acquire.wait is None:
            return None
        waited = self._keeper.runtime.now() - self._started_at
        return max(0.0, self.acquire.wait - waited)

    def stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _optional_duration(seconds: Optional[float]) -> Optional[Duration]:
    return None if seconds is None else duration(seconds)
