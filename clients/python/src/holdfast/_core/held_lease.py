"""A lease of this process, as the engine sees it."""

import json
import math
import threading
from typing import Callable, List, Mapping, Optional, Protocol

from ..errors import ClosedError, HoldfastError, LeaseLost, LossCause
from ..v1 import lease_pb2
from .belief import Belief
from .durations import seconds_of
from .news import News
from .open_session import OpenSession
from .outcome import Outcome
from .runtime import Runtime, Timer
from .texts import checked_metadata

#: A timer that fires just before the deadline is set again, and not at once.
_SHORTEST_TIMER = 0.001
#: The event loop refuses very long timers.
_LONGEST_TIMER = 86_400.0


#: Makes the metadata of an update when its turn has come.
MetadataChange = Callable[[], Mapping[str, str]]


class ReleaseAnswer:
    """released: the work was protected until this release. cause: else why the lease had ended."""

    def __init__(self, released: bool, cause: int) -> None:
        self.released = released
        self.cause = cause


class PendingUpdate(Protocol):
    """An update of metadata without an answer."""

    outcome: Outcome[None]

    def begin(self) -> bool: ...

    def place(self) -> None: ...

    def reject(self, error: BaseException) -> None: ...


class LeaseWishes(Protocol):
    """What the caller has asked for, and what a server does not say of a lease."""

    @property
    def max_hold(self) -> Optional[float]: ...

    @property
    def metadata(self) -> Optional[Mapping[str, str]]: ...

    @property
    def kept(self) -> Mapping[str, str]:
        """Entries of the metadata that an update without them keeps."""


class LeaseKeeper(Protocol):
    """What a lease asks of the client that holds the lease."""

    runtime: Runtime
    news: News

    def over(self, lease: "HeldLease") -> None: ...

    def release(self, lease: "HeldLease") -> Outcome[ReleaseAnswer]: ...

    def update(self, lease: "HeldLease", change: MetadataChange) -> Outcome[None]: ...

    def release_error(self, lease: "HeldLease") -> Optional[HoldfastError]:
        """Why the last attempt of the release has failed, if known."""

    def no_answer(self, what: str, last: Optional[HoldfastError] = None) -> HoldfastError:
        """The error of a command without an answer. Tells why, if known."""


class HeldLease:
    """Any thread may ask whether the lease is over. Only the engine's thread changes the rest."""

    def __init__(
        self,
        message: lease_pb2.Lease,
        deadline: float,
        wishes: LeaseWishes,
        keeper: LeaseKeeper,
    ) -> None:
        #: A secret that belongs into no log.
        self.lease_id = message.lease_id
        self.name = message.name
        self.token = message.fencing_token
        self.permit_count = message.permit_count
        self.ttl = seconds_of(message.ttl)
        #: The session that holds the lease, or that was last sent an attach.
        self.home: Optional[OpenSession] = None
        #: The number of the lease in `home`. None until the attach is answered.
        self.number: Optional[int] = None
        #: The updates without an answer, in the order of the calls. Only the first one is sent.
        self.updates: List[PendingUpdate] = []
        self._keeper = keeper
        self._runtime = keeper.runtime
        self.news = keeper.news
        self._belief = Belief(deadline)
        self._kept = wishes.kept
        #: The metadata that others see, without those of `connect`.
        self._shown: Mapping[str, str] = dict(wishes.metadata or {})
        max_hold = wishes.max_hold
        self._hold_until = self._runtime.now() + (math.inf if max_hold is None else max_hold)
        self._cause: Optional[LossCause] = None
        #: This process has released the lease before it was lost.
        self._is_released = False
        #: A block of code runs under the lease, so the lease is released at its end only.
        self.has_block = False
        #: The number of failed attaches in a row.
        self.failed_attaches = 0
        self._lock = threading.Lock()
        self._is_told = False
        self._listeners: List[Callable[[LeaseLost], object]] = []
        self._end_listeners: List[Callable[[], object]] = []
        self._releasing: Optional[Outcome[ReleaseAnswer]] = None
        self._timer: Optional[Timer] = None
        self._watch()

    @property
    def deadline(self) -> float:
        return self._belief.deadline

    @property
    def cause(self) -> Optional[LossCause]:
        """Why the lease is over. None: the lease is held. Compares the clock."""
        if self._runtime.is_forked():
            return LossCause.FORKED
        if self._cause is None and self._compare() is not None:
            # The engine hears of it in its own thread.
            self._runtime.call_from_thread(self._tell)
        return self._cause

    @property
    def is_over(self) -> bool:
        return self.cause is not None

    @property
    def loss(self) -> Optional[LeaseLost]:
        """The loss of the lease. None: the lease is held, or was released."""
        cause = self.cause
        if cause is None or (self._is_released and cause is LossCause.RELEASED):
            return None
        return self.lost(cause)

    def lost(self, cause: LossCause) -> LeaseLost:
        error = LeaseLost(self.name, cause)
        error.source = self
        return error

    def remaining(self) -> float:
        """The time until the deadline (seconds). 0: the lease is over."""
        if self.is_over:
            return 0.0
        return max(0.0, min(self.deadline, self._hold_until) - self._runtime.now())

    def listen(self, callback: Callable[[LeaseLost], object]) -> None:
        """Calls back once at a loss, at once if the lease is lost. Never after a release."""
        if not self._is_told:
            self._listeners.append(callback)
            return
        loss = self.loss
        if loss is not None:
            callback(loss)

    def ignore(self, callback: Callable[[LeaseLost], object]) -> None:
        if callback in self._listeners:
            self._listeners.remove(callback)

    def listen_end(self, callback: Callable[[], object]) -> None:
        """Calls back once when the lease is over, also after a release."""
        if self._is_told:
            callback()
        else:
            self._end_listeners.append(callback)

    def ignore_end(self, callback: Callable[[], object]) -> None:
        if callback in self._end_listeners:
            self._end_listeners.remove(callback)

    def confirm(self, deadline: float) -> None:
        """Takes the deadline of a renewal or an attach."""
        self._belief.confirm(deadline, self._runtime.now())

    def end(self, cause: LossCause) -> None:
        """Only the first cause counts. A deadline that has passed is an earlier cause."""
        if self._compare() is None:
            self._decide(cause)
        self._tell()

    def let_go(self) -> None:
        """The own release ends the belief. Without effect if the lease is lost before."""
        if self._compare() is None:
            self._decide(LossCause.RELEASED, is_released=True)
        self._tell()

    def begin_block(self) -> None:
        """Any thread may call. Raises LeaseLost, and releases, if the lease is over already."""
        cause = self.cause
        with self._lock:
            cause = cause or self._cause
            if cause is None:
                self.has_block = True
                return
        self.give_back()
        raise self.lost(cause)

    def give_back(self) -> None:
        """Any thread may call. Releases once, without a wait. Sends nothing in a forked child."""
        if not self._runtime.is_forked():
            self._runtime.call_from_thread(self._release)

    def forgotten(self) -> None:
        """The caller has no handle any more. Any thread may call, also a garbage collection.

        The renewals go on, because the caller may count on the lease as long as the process
        lives.
        """
        if self._cause is None and not self.has_block and not self._runtime.is_forked():
            self._runtime.call_from_thread(self._tell_forgotten)

    def release(self) -> Outcome[ReleaseAnswer]:
        if self._releasing is None:
            self._releasing = self._keeper.release(self)
        return self._releasing

    def update_metadata(self, metadata: Mapping[str, str]) -> Outcome[None]:
        """Keeps the entries that an update without them keeps."""
        entries = dict(checked_metadata(metadata))
        return self._keeper.update(self, lambda: {**self._kept, **entries})

    def update_entry(self, key: str, value: str) -> Outcome[None]:
        """Keeps all other entries that others see when the turn of the update comes."""
        checked_metadata({key: value})
        return self._keeper.update(self, lambda: {**self._shown, key: value})

    def give_up_update(self, outcome: Outcome[None]) -> None:
        """Nobody waits for this update any more. The next one has the turn."""
        for update in self.updates:
            if update.outcome is outcome:
                return update.reject(ClosedError())

    def keep(self, metadata: Mapping[str, str]) -> None:
        """From now on the lease keeps the values of an update that was carried out."""
        self._shown = metadata
        self._kept = {key: metadata[key] for key in self._kept}

    def no_answer(self, what: str, last: Optional[HoldfastError] = None) -> HoldfastError:
        return self._keeper.no_answer(what, last)

    def no_answer_to_release(self) -> HoldfastError:
        """For a caller who waits no longer. The release goes on."""
        text = f"the release of {json.dumps(self.name)} has no answer yet, and goes on"
        return self.no_answer(text, self._keeper.release_error(self))

    def __repr__(self) -> str:
        return f"HeldLease(name={self.name!r}, fencing_token={self.token})"

    def _release(self) -> None:
        self.release()

    def _tell_forgotten(self) -> None:
        if not self.is_over:
            self.news.forgotten(self.name)

    def _compare(self) -> Optional[LossCause]:
        now = self._runtime.now()
        if self._belief.is_over(now):
            self._decide(LossCause.DEADLINE)
        elif now >= self._hold_until:
            self._decide(LossCause.MAX_HOLD)
        return self._cause

    def _decide(self, cause: LossCause, is_released: bool = False) -> None:
        with self._lock:
            if self._cause is None:
                self._cause = cause
                self._is_released = is_released
                self._belief.end()

    def _tell(self) -> None:
        if self._is_told:
            return
        self._is_told = True
        if self._timer is not None:
            self._timer.cancel()
        listeners, self._listeners = self._listeners, []
        self._keeper.over(self)
        loss = self.loss
        if loss is not None:
            for listener in listeners:
                listener(loss)
        end_listeners, self._end_listeners = self._end_listeners, []
        for end_listener in end_listeners:
            end_listener()

    def _watch(self) -> None:
        """A renewal does not move the timer. The timer finds the later deadline when it fires."""
        wait = min(self.deadline, self._hold_until) - self._runtime.now()
        wait = min(max(wait, _SHORTEST_TIMER), _LONGEST_TIMER)
        self._timer = self._runtime.call_later(wait, self._wake)

    def _wake(self) -> None:
        if self._runtime.is_forked() or self._is_told:
            return
        if self._compare() is None:
            self._watch()
        else:
            self._tell()
