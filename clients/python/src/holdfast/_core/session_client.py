"""All leases of this process, over one session after the other."""

import math
import uuid
from dataclasses import dataclass, field
from typing import Callable, Mapping, Optional, Set

import grpc

from ..errors import ClosedError, CredentialError, Facts, HoldfastError, error_of, no_answer
from ..v1.session_service_pb2 import SessionStart
from . import numbers, pauses
from .acquire_intent import Acquire, AcquireIntent
from .bearer import BearerToken
from .news import News
from .open_session import OpenSession
from .outcome import Outcome
from .runtime import OpenWire, Runtime, Timer
from .servers import Servers
from .session_tasks import SessionTasks

#: Gives a token later, as the outcome.
FetchToken = Callable[[], Outcome[BearerToken]]

#: Looks the names of the servers up. The outcome comes within a short time, and never fails.
LookUpNames = Callable[[], Outcome[None]]


@dataclass(frozen=True)
class SessionSettings:
    #: Each next session goes to the next server, or to the next address of a name.
    servers: Servers
    open_wire: OpenWire
    news: News
    #: Called before each session. None: there are no names.
    look_up: Optional[LookUpNames] = None
    #: Called before each session. None: no token.
    fetch_token: Optional[FetchToken] = None
    #: The same in all sessions.
    holder_id: str = ""
    #: The metadata of each acquire without metadata of its own.
    metadata: Mapping[str, str] = field(default_factory=dict)


class SessionClient:
    """A broken session ends no lease.

    The next session attaches to the leases, and their deadlines decide how long the process may
    believe in them.
    """

    def __init__(self, settings: SessionSettings, runtime: Runtime) -> None:
        self.runtime = runtime
        self._settings = settings
        self._client_id = str(uuid.uuid4())
        self._tasks = SessionTasks(runtime, settings.news)
        self._retired: Set[OpenSession] = set()
        self._current: Optional[OpenSession] = None
        self._session_count = 0
        self._failures = 0
        self._refusals = 0
        self._has_started = False
        self._connect_until = math.inf
        self._open_timer: Optional[Timer] = None
        self._token_timer: Optional[Timer] = None
        self._is_fetching = False
        self._is_closing = False
        self._is_closed = False
        self._failure: Optional[HoldfastError] = None
        self._on_ended: Optional[Callable[[], None]] = None
        self._ready: Optional[Outcome[None]] = None
        self._closing: Outcome[None] = Outcome()
        self._open_after(0.0)

    def ready(self, timeout: float) -> Outcome[None]:
        """Waits for the first answer of a server."""
        ready: Outcome[None] = Outcome()
        self._connect_until = self.runtime.now() + timeout

        def late() -> None:
            last = self._tasks.session_error
            if isinstance(last, CredentialError):
                ready.reject(last)
            else:
                ready.reject(no_answer("no server answered in time", last))

        timer = self.runtime.call_later(timeout, late)
        ready.then(lambda _: timer.cancel())
        self._ready = ready
        return ready

    def acquire(self, acquire: Acquire) -> AcquireIntent:
        if self._failure is None and not self._is_closing:
            return self._tasks.acquire(acquire)
        intent = AcquireIntent(acquire, self._tasks)
        intent.reject(self._failure or ClosedError())
        return intent

    def abandon(self, intent: AcquireIntent, error: BaseException) -> None:
        """Gives up a wait. A grant that was under way is released."""
        self._tasks.abandon(intent, error)

    @property
    def lease_count(self) -> int:
        """The number of leases in which this process believes."""
        return len(self._tasks.leases)

    def close(self, timeout: float = numbers.CLOSE) -> Outcome[None]:
        """Releases all leases, ends all waits, waits for the answers, and ends the session.

        After the timeout a lease without an answer is left to the end of its ttl.
        """
        if not self._is_closing:
            self._is_closing = True
            self._tasks.finish(ClosedError(), timeout, self._end_session)
        return self._closing

    def stop(self) -> None:
        """The process ends. Sends nothing, and leaves the leases to the ends of their ttl."""
        self._is_closed = True
        for timer in (self._open_timer, self._token_timer):
            if timer is not None:
                timer.cancel()
        if self._current is not None:
            self._current.leave()
        for session in list(self._retired):
            session.leave()

    @property
    def shortest_ttl(self) -> float:
        return self._tasks.leases.shortest_ttl

    def started(self, session: OpenSession) -> None:
        self._failures = 0
        self._refusals = 0
        self._has_started = True
        self._tasks.session_error = None
        if self._ready is not None:
            self._ready.resolve(None)
        self._settings.news.started(session.address)

    def leaving(self, session: OpenSession, delay: float) -> None:
        self._settings.news.leaving(session.address)
        if session is self._current:
            self._open_after(delay)

    def quiet(self, session: OpenSession) -> None:
        if session in self._retired:
            session.half_close()

    def ended(self, session: OpenSession, error: Optional[HoldfastError], silent: bool) -> None:
        if silent:
            error = no_answer(f"{session.address} is silent")
        elif error is None:
            text = "the stream ended without a reason"
            error = error_of(text, Facts("", grpc.StatusCode.UNAVAILABLE))
        self._retired.discard(session)
        if session is not self._current or self._is_closed:
            return
        self._tasks.session_error = error
        self._current = None
        self._tasks.without_session()
        if self._on_ended is not None:
            return self._on_ended()
        self._settings.news.ended(session.address, error)
        if not session.is_started:
            self._failures += 1
        if self._is_final(session, error):
            return self._fail(error)
        self._open_after(self._pause_after(error))

    def _end_session(self) -> None:
        """After the answers to the releases."""
        if self._is_closed or self._on_ended is not None:
            return
        self._on_ended = self._finish_close
        if self._open_timer is not None:
            self._open_timer.cancel()
        if self._current is not None and self._current.is_started:
            self._current.half_close()
        else:
            self._finish_close()

    def _finish_close(self) -> None:
        if self._is_closed:
            return
        self.stop()
        self._tasks.close()
        if self._ready is not None:
            self._ready.reject(ClosedError())
        self._closing.resolve(None)

    def _is_final(self, session: OpenSession, error: HoldfastError) -> bool:
        """A next session cannot help."""
        if isinstance(error, CredentialError) and not session.is_started:
            self._refusals += 1
            is_refused = self._refusals > 1
        elif error.code is grpc.StatusCode.UNIMPLEMENTED:
            is_refused = self._failures >= self._settings.servers.count
        else:
            is_refused = error.reason in numbers.CONNECT_FAILS or _is_forbidden(error)
        # Servers that have accepted this client before may do so again.
        return is_refused and not self._has_started

    def _fail(self, error: HoldfastError) -> None:
        """The deadlines of the held leases decide how long the work may go on."""
        self._failure = error
        self._tasks.fail(error)
        if self._ready is not None:
            self._ready.reject(error)

    def _pause_after(self, error: HoldfastError) -> float:
        """The pause after the end of a session, or after a session that could not be opened."""
        nearest = self._tasks.leases.nearest_deadline(self.runtime.now())
        return pauses.before_session(self._failures, nearest, error.retry_after)

    def _open_after(self, delay: float) -> None:
        if self._on_ended is not None:
            return
        if self._open_timer is not None:
            self._open_timer.cancel()
        if not self._is_fetching:
            self._open_timer = self.runtime.call_later(delay, self._open_next)

    def _open_next(self) -> None:
        if self._is_closed or self.runtime.is_forked():
            return
        self._is_fetching = True
        if self._settings.fetch_token is None:
            return self._look_up(None)
        self._settings.fetch_token().then(self._fetched)

    def _fetched(self, outcome: Outcome[BearerToken]) -> None:
        error = outcome.error
        if error is None:
            return self._look_up(outcome.value)
        self._is_fetching = False
        if isinstance(error, HoldfastError):
            self._not_opened(error)
        else:
            facts = Facts("NO_CREDENTIAL", grpc.StatusCode.UNAUTHENTICATED)
            self._not_opened(error_of(f"the client has no token: {error}", facts))

    def _look_up(self, bearer: Optional[BearerToken]) -> None:
        def looked_up(_: object) -> None:
            self._is_fetching = False
            self._open(bearer)

        if self._settings.look_up is None:
            looked_up(None)
        else:
            self._settings.look_up().then(looked_up)

    def _open(self, bearer: Optional[BearerToken]) -> None:
        if self._is_closed or self._on_ended is not None or self._failure is not None:
            return
        settings = self._settings
        server, left = settings.servers.next()
        first_answer = self._first_answer(left)
        self._session_count += 1
        start = SessionStart(
            client_id=self._client_id,
            session_number=self._session_count,
            holder_id=settings.holder_id,
            metadata=settings.metadata,
        )
        token = bearer.token if bearer else None
        try:
            session = OpenSession(server, token, start, settings.open_wire, self, first_answer)
        except HoldfastError as error:
            return self._not_opened(error)
        previous, self._current = self._current, session
        self._watch_token(bearer, session)
        # The previous session renews the leases until the next one has them.
        if previous is not None:
            self._retired.add(previous)
        self._tasks.move_to(session)
        if previous is not None and previous.open_count == 0:
            previous.half_close()

    def _first_answer(self, left: int) -> float:
        """Before the first session, the addresses that were not asked share the connect time."""
        if self._has_started:
            return numbers.FIRST_ANSWER
        share = (self._connect_until - self.runtime.now()) / left
        return min(numbers.FIRST_ANSWER, max(numbers.SHORTEST_FIRST_ANSWER, share))

    def _not_opened(self, error: HoldfastError) -> None:
        """The next attempt may find the token or the certificate."""
        if self._is_closed:
            return
        self._tasks.session_error = error
        self._failures += 1
        self._settings.news.ended("", error)
        self._open_after(self._pause_after(error))

    def _watch_token(self, bearer: Optional[BearerToken], session: OpenSession) -> None:
        if self._token_timer is not None:
            self._token_timer.cancel()
        if bearer is None or bearer.expires_in is None:
            return

        def renew() -> None:
            # The session takes new acquires until the next one is open, because the next token
            # may be late.
            if session is self._current:
                self._open_after(0.0)

        # A token that has ended already must not open one session after the other.
        delay = max(numbers.SHORTEST_TOKEN_LIFE, bearer.expires_in * numbers.CREDENTIAL_LIFE_USED)
        self._token_timer = self.runtime.call_later(delay, renew)


def _is_forbidden(error: HoldfastError) -> bool:
    """The answer of a proxy, which gives no reason."""
    return error.reason == "" and error.code is grpc.StatusCode.PERMISSION_DENIED
