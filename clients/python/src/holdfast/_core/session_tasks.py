"""What outlives a session: leases, acquires without an answer, releases without an answer."""

import json
from typing import Callable, Dict, Optional, Set

import grpc

from ..errors import ClosedError, Facts, HoldfastError, LossCause, error_of, no_answer
from ..v1 import lease_pb2
from ..v1.session_service_pb2 import (
    AttachCommand,
    CancelCommand,
    CommandFailed,
    SessionCommand,
)
from . import numbers, pauses
from .acquire_intent import Acquire, AcquireIntent
from .durations import deadline, seconds_of
from .held_lease import HeldLease, MetadataChange, ReleaseAnswer
from .held_leases import HeldLeases
from .lease_owner import AttachOwner, LeaseOwner
from .news import News
from .open_session import CommandOwner, OpenSession, Receipt
from .outcome import Outcome
from .releases import Releases
from .repeats import Repeats
from .runtime import Runtime
from .status import error_of_command
from .timers import Timers
from .update_task import start_update


class SessionTasks:
    def __init__(self, runtime: Runtime, news: News) -> None:
        self.runtime = runtime
        self.leases = HeldLeases()
        self.news = news
        #: Why no session lasts. None: a session has started.
        self.session_error: Optional[HoldfastError] = None
        self._intents: Dict[AcquireIntent, None] = {}
        #: The intents without an answer that their callers have not given up.
        self._wanted: Set[AcquireIntent] = set()
        #: The leases of blocks of code that still run while the client closes.
        self._blocks: Set[HeldLease] = set()
        self._timers = Timers(runtime)
        self._repeats = Repeats(self._timers)
        self._releases = Releases(
            runtime, self._timers, self._repeats, self._tell_empty, self.no_answer
        )
        self._on_empty: Optional[Callable[[], None]] = None

    @property
    def current(self) -> Optional[OpenSession]:
        """The session that gets new commands."""
        return self._releases.current

    def without_session(self) -> None:
        self._releases.current = None

    def move_to(self, session: OpenSession) -> None:
        """Attaches first, the earliest deadline first, then releases and acquires."""
        for lease in self.leases.by_deadline():
            self._attach(lease, session)
        self._releases.move_to(session)
        for intent in self._intents:
            self._place(intent, session)

    def acquire(self, acquire: Acquire) -> AcquireIntent:
        intent = AcquireIntent(acquire, self)
        bound = numbers.MAX_ACQUIRES_UNANSWERED
        if len(self._wanted) >= bound:
            text = f"{bound} acquires of this client wait already"
            facts = Facts("QUOTA_EXCEEDED", grpc.StatusCode.RESOURCE_EXHAUSTED)
            intent.reject(error_of(text, facts))
            return intent
        self._intents[intent] = None
        self._wanted.add(intent)
        # A server that leaves may refuse new acquires. The next session sends the acquire.
        if self.current is not None and not self.current.is_leaving:
            self._place(intent, self.current)
        return intent

    def abandon(self, intent: AcquireIntent, error: BaseException) -> None:
        """The caller hears at once.

        The intent stays until the server has answered, because a grant may be under way.
        """
        if intent.is_abandoned or intent not in self._intents:
            return
        self._wanted.discard(intent)
        intent.abandon(error)
        if intent.home is None:
            self.forget(intent)
        else:
            self._cancel(intent, intent.home)

    def forget(self, intent: AcquireIntent) -> None:
        """A later grant is released, because nobody has the intent."""
        intent.stop_timer()
        self._intents.pop(intent, None)
        self._wanted.discard(intent)
        self._tell_empty()

    def finish(self, error: HoldfastError, timeout: float, done: Callable[[], None]) -> None:
        """Ends the belief in all leases, and cancels all waits.

        A lease is released when its block of code has ended, at once without a block. The lease
        of a block that does not end in time, or that was lost before, is left to the end of its
        ttl. `done` is called after the answers or the timeout.
        """
        for intent in list(self._intents):
            self.abandon(intent, error)
        for lease in [*self.leases.by_deadline(), *self._releases.held_too_long]:
            lease.end(LossCause.CLOSED)
            if not lease.has_block:
                lease.release()
            elif lease.cause is LossCause.CLOSED:
                self._blocks.add(lease)
        if self._is_empty:
            return done()
        self._on_empty = done
        self._timers.later(timeout, done)

    def fail(self, error: HoldfastError) -> None:
        """No next session will come."""
        intents, self._intents = self._intents, {}
        self._wanted.clear()
        for intent in intents:
            intent.reject(error)
        self._releases.fail(error)
        self._tell_empty()

    def close(self) -> None:
        self.fail(ClosedError())
        self._timers.cancel()
        for lease in self.leases.by_deadline():
            lease.end(LossCause.CLOSED)

    def granted(
        self,
        intent: AcquireIntent,
        message: lease_pb2.Lease,
        receipt: Receipt,
        session: OpenSession,
        number: int,
    ) -> Optional[CommandOwner]:
        lease_id, ttl = message.lease_id, seconds_of(message.ttl)
        until = deadline(receipt.t0, seconds_of(message.expire_offset), ttl, receipt.at)
        known = self.leases.get(lease_id)
        if known is not None:
            # The grant of an older session was read before the answer of this one.
            known.confirm(until)
            if known.home is None or known.home.number <= session.number:
                self._settle_in(known, session, number)
            return LeaseOwner(known, self)
        unwanted = intent not in self._intents or intent.is_abandoned
        if unwanted or self.leases.is_over(lease_id):
            self.release_unwanted(lease_id, ttl)
            self.forget(intent)
            return None
        if until <= self.runtime.now():
            self._granted_too_late(intent, lease_id, ttl)
            return None
        lease = HeldLease(message, until, intent.acquire, self)
        del self._intents[intent]
        self._wanted.discard(intent)
        self.leases.add(lease)
        intent.lease = lease
        if intent.home is None or intent.home.number <= session.number:
            self._settle_in(lease, session, number)
        elif intent.is_pausing:
            self._attach(lease, intent.home)
        else:
            # The repetition in a later session attaches to the lease, so that session decides
            # about the lease.
            lease.home = intent.home
        intent.resolve(lease)
        self._tell_empty()
        return LeaseOwner(lease, self)

    def cancelled(self, intent: AcquireIntent) -> None:
        self._end(intent, ClosedError("the wait was cancelled"))

    def failed(self, intent: AcquireIntent, failed: CommandFailed, session: OpenSession) -> None:
        if intent.home is not session:
            return
        if intent.lease is not None and intent.lease.number is None:
            return AttachOwner(intent.lease, self).failed(failed, session)
        if intent not in self._intents:
            return
        error = error_of_command(failed)
        if error.reason == "REQUEST_FINISHED" and intent.take_new_id():
            return self._place(intent, session)

        def again() -> None:
            if intent.is_pausing and intent.home is session and intent in self._intents:
                self._place(intent, session)

        intent.is_pausing = self._repeats.later(intent, error, session, again)
        if intent.is_pausing:
            intent.last_error = error
        else:
            self._end(intent, error)

    def without_answer(self, intent: AcquireIntent) -> None:
        text = f"no server answered the acquire of {json.dumps(intent.acquire.name)}"
        self.abandon(intent, self.no_answer(text, intent.last_error))

    def release_error(self, lease: HeldLease) -> Optional[HoldfastError]:
        return self._releases.last_error(lease.lease_id)

    def no_answer(self, what: str, last: Optional[HoldfastError] = None) -> HoldfastError:
        """Says why no session lasts, or else why the last attempt of the command failed."""
        return no_answer(what, self.session_error or last)

    def over(self, lease: HeldLease) -> None:
        self.leases.end(lease)
        cause = lease.cause or LossCause.RELEASED
        updates, lease.updates = lease.updates, []
        for update in updates:
            update.reject(lease.lost(cause))
        loss = lease.loss
        if loss is None or cause is LossCause.CLOSED:
            return
        self.news.lost(loss)
        # The session still renews the lease. Nobody may rely on the lease after its deadline,
        # whatever the work does.
        if cause is LossCause.DEADLINE:
            self.release_unwanted(lease.lease_id, lease.ttl)
        elif cause is LossCause.MAX_HOLD:
            self._releases.release_at_deadline(lease)

    def release(self, lease: HeldLease) -> Outcome[ReleaseAnswer]:
        lease.let_go()
        if lease.cause is LossCause.SUPERSEDED:
            # The lease is held elsewhere, and is not this client's to end.
            outcome: Outcome[ReleaseAnswer] = Outcome()
            outcome.resolve(ReleaseAnswer(False, lease_pb2.LossCause.LOSS_CAUSE_UNSPECIFIED))
        else:
            outcome = self._releases.release_held(lease)
        self._blocks.discard(lease)
        self._tell_empty()
        return outcome

    def update(self, lease: HeldLease, change: MetadataChange) -> Outcome[None]:
        return start_update(lease, change, self.runtime, self._repeats)

    def attached(self, lease: HeldLease, session: OpenSession, number: int) -> None:
        lease.failed_attaches = 0
        self._settle_in(lease, session, number)
        self.news.attached(session.address, lease.name)

    def renewal_failed(self, lease: HeldLease) -> None:
        self.news.renewal_failed(lease.name)

    def release_unwanted(self, lease_id: str, ttl: float) -> None:
        self._releases.release(lease_id, ttl)

    def repeat_attach(self, lease: HeldLease, error: HoldfastError, session: OpenSession) -> None:
        def again() -> None:
            if lease.home is session and not lease.is_over:
                self._attach(lease, session)

        lease.failed_attaches += 1
        left = lease.deadline - self.runtime.now()
        pause = pauses.before_attach(lease.failed_attaches, error.retry_after, left)
        self._timers.later(pause, again)

    @property
    def _is_empty(self) -> bool:
        return not self._intents and not self._releases and not self._blocks

    def _tell_empty(self) -> None:
        if self._is_empty and self._on_empty is not None:
            on_empty, self._on_empty = self._on_empty, None
            on_empty()

    def _attach(self, lease: HeldLease, session: OpenSession) -> None:
        lease.home = session
        lease.number = None
        attach = AttachCommand(lease_id=lease.lease_id)
        session.run(SessionCommand(attach=attach), AttachOwner(lease, self))

    def _settle_in(self, lease: HeldLease, session: OpenSession, number: int) -> None:
        lease.home = session
        lease.number = number
        for update in lease.updates[:1]:
            update.place()

    def _place(self, intent: AcquireIntent, session: OpenSession) -> None:
        intent.home = session
        intent.is_pausing = False
        intent.command_id = session.run(intent.command(), intent)
        if intent.is_abandoned:
            self._cancel(intent, session)

    def _cancel(self, intent: AcquireIntent, session: OpenSession) -> None:
        session.run(SessionCommand(cancel=CancelCommand(command_id=intent.command_id)), None)

    def _granted_too_late(self, intent: AcquireIntent, lease_id: str, ttl: float) -> None:
        """The grant is over on arrival, so the work never began."""
        self.release_unwanted(lease_id, ttl)
        if self.current is not None and intent.take_new_id():
            return self._place(intent, self.current)
        name = json.dumps(intent.acquire.name)
        self._end(intent, no_answer(f"the grant of {name} came after the end of its lease"))

    def _end(self, intent: AcquireIntent, error: HoldfastError) -> None:
        if intent in self._intents:
            del self._intents[intent]
            self._wanted.discard(intent)
            intent.reject(error)
        self._tell_empty()
