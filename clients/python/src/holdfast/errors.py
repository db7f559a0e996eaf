"""The errors of this package. Decide by the class or by `reason`, never by the text."""

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Type

import grpc


@dataclass(frozen=True)
class FieldViolation:
    """An invalid field of a request."""

    #: The path of the field, spelled as in the proto files, for example `acquire_lock.ttl`.
    field: str
    description: str


@dataclass(frozen=True)
class Facts:
    """What an error says, apart from its text."""

    reason: str
    code: grpc.StatusCode
    metadata: Mapping[str, str] = field(default_factory=dict)
    retry_after: Optional[float] = None
    violations: Sequence[FieldViolation] = ()


class HoldfastError(Exception):
    """The base of all errors of this package.

    reason: an ErrorReason without its prefix, see docs/errors.md. Empty: the error comes from the
        gRPC library, and `code` says more.
    code: the gRPC status code.
    metadata: the facts that error_reason.proto lists for the reason, for example `holder_id`.
    retry_after: the delay before a retry (seconds). None: the server advises no retry.
    violations: all invalid fields of the request.
    """

    def __init__(self, message: str, facts: Facts) -> None:
        super().__init__(message)
        self.reason = facts.reason
        self.code = facts.code
        self.metadata = facts.metadata
        self.retry_after = facts.retry_after
        self.violations = tuple(facts.violations)

    def __reduce__(self) -> Tuple[Any, ...]:
        facts = Facts(
            self.reason, self.code, dict(self.metadata), self.retry_after, self.violations
        )
        return type(self), (str(self), facts)

    def _number(self, key: str) -> int:
        text = self.metadata.get(key, "")
        return int(text) if text.isdecimal() else 0


class ContendedError(HoldfastError):
    """CONTENDED: the lock or permits were not granted within the wait. Nothing is held."""

    @property
    def holder_id(self) -> str:
        """One current holder. Empty if the caller may not read the name."""
        return self.metadata.get("holder_id", "")

    @property
    def waiter_count(self) -> int:
        return self._number("waiter_count")


class InvalidRequestError(HoldfastError):
    """INVALID_FIELD, REQUEST_MISMATCH: the request is wrong. `violations` names the fields."""


class CredentialError(HoldfastError):
    """NO_CREDENTIAL, BAD_CREDENTIAL: the server does not know the caller."""


class NotAllowedError(HoldfastError):
    """NOT_ALLOWED: the policy of the server refuses the call to this caller."""


class LimitReachedError(HoldfastError):
    """QUOTA_EXCEEDED, QUEUE_FULL, STORE_FULL: a bound is reached."""


class NoSuchSemaphoreError(HoldfastError):
    """NO_SUCH_SEMAPHORE: the semaphore has no limit yet."""


class LimitMismatchError(HoldfastError):
    """LIMIT_MISMATCH: the semaphore has another limit than the caller demands."""

    @property
    def limit(self) -> int:
        """The limit in force."""
        return self._number("limit")

    @property
    def expected_limit(self) -> int:
        """The limit that the caller has demanded."""
        return self._number("expected_limit")


class NeverFitsError(HoldfastError):
    """NEVER_FITS: more permits are wanted than the semaphore has."""

    @property
    def limit(self) -> int:
        return self._number("limit")


class NoSuchDictionaryError(HoldfastError):
    """NO_SUCH_DICTIONARY."""


class DictionaryExistsError(HoldfastError):
    """DICTIONARY_EXISTS: the dictionary has another profile."""


class ImportConflictError(HoldfastError):
    """IMPORT_CONFLICT: another import was committed first. This import changed nothing."""


class UnavailableError(HoldfastError):
    """No answer in time, or an answer that does not say whether the call was carried out.

    `reason` has the last reason. A new call with the same intent is safe for locks and permits:
    the client has released what it got.
    """


class ClosedError(HoldfastError):
    """The client is closed, or belongs to the parent of this forked process."""

    def __init__(self, message: str = "the client is closed", facts: Optional[Facts] = None):
        super().__init__(message, facts or Facts("CLOSED", grpc.StatusCode.CANCELLED))


class LossCause(str, Enum):
    """Why a lease is over."""

    #: The deadline on the own clock has passed.
    DEADLINE = "DEADLINE"
    #: The lease was held for longer than the option `max_hold` allows.
    MAX_HOLD = "MAX_HOLD"
    #: The client was closed while the lease was held.
    CLOSED = "CLOSED"
    #: This is a forked child: the lease belongs to the parent process.
    FORKED = "FORKED"
    #: The server has answered that the lease is not held.
    LEASE_NOT_HELD = "LEASE_NOT_HELD"
    #: The ends that a server tells, SessionEndCause without its prefix.
    EXPIRED = "EXPIRED"
    REVOKED = "REVOKED"
    STORE_RESET = "STORE_RESET"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    #: Also the cause after a release by this process, which is no loss.
    RELEASED = "RELEASED"
    SUPERSEDED = "SUPERSEDED"
    #: A cause that a newer server has.
    UNRECOGNIZED = "UNRECOGNIZED"

    def __str__(self) -> str:
        return self.value


_LOSS_TEXTS: Dict[LossCause, str] = {
    LossCause.DEADLINE: "its deadline passed without a renewal",
    LossCause.MAX_HOLD: "it was held for longer than max_hold",
    LossCause.CLOSED: "the client was closed",
    LossCause.FORKED: "it belongs to the parent of this forked process",
    LossCause.LEASE_NOT_HELD: "the server no longer knows it",
    LossCause.EXPIRED: "it was not renewed in time",
    LossCause.REVOKED: "an operator or a new policy revoked it",
    LossCause.STORE_RESET: "the store lost it",
    LossCause.STORE_UNAVAILABLE: "the store was not reached in time",
    LossCause.RELEASED: "it was released",
    LossCause.SUPERSEDED: "another session attached to it",
    LossCause.UNRECOGNIZED: "a newer server ended it for an unknown reason",
}

_NOTICED_BY_CLIENT = frozenset(
    [LossCause.DEADLINE, LossCause.MAX_HOLD, LossCause.CLOSED, LossCause.FORKED]
)


class LeaseLost(HoldfastError):
    """The lease is over: stop the work that it protects.

    resource: the name of the lock or the semaphore.
    loss_cause: why the lease is over.
    """

    def __init__(self, resource: str, loss_cause: LossCause) -> None:
        super().__init__(
            f"the lease of {json.dumps(resource)} is over: {_LOSS_TEXTS[loss_cause]}",
            Facts("LEASE_LOST", grpc.StatusCode.ABORTED, {"cause": loss_cause.value}),
        )
        self.resource = resource
        self.loss_cause = loss_cause
        #: The lost lease, for the package itself.
        self.source: Optional[object] = None

    @property
    def noticed_by(self) -> str:
        """`client` or `server`."""
        return "client" if self.loss_cause in _NOTICED_BY_CLIENT else "server"

    def __reduce__(self) -> Tuple[Any, ...]:
        return LeaseLost, (self.resource, self.loss_cause)


_CLASSES: Dict[str, Type[HoldfastError]] = {
    "CONTENDED": ContendedError,
    "INVALID_FIELD": InvalidRequestError,
    "REQUEST_MISMATCH": InvalidRequestError,
    "NO_CREDENTIAL": CredentialError,
    "BAD_CREDENTIAL": CredentialError,
    "NOT_ALLOWED": NotAllowedError,
    "QUOTA_EXCEEDED": LimitReachedError,
    "QUEUE_FULL": LimitReachedError,
    "STORE_FULL": LimitReachedError,
    "NO_SUCH_SEMAPHORE": NoSuchSemaphoreError,
    "LIMIT_MISMATCH": LimitMismatchError,
    "NEVER_FITS": NeverFitsError,
    "NO_SUCH_DICTIONARY": NoSuchDictionaryError,
    "DICTIONARY_EXISTS": DictionaryExistsError,
    "IMPORT_CONFLICT": ImportConflictError,
}

_CLASSES_OF_CODES: Dict[grpc.StatusCode, Type[HoldfastError]] = {
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: UnavailableError,
    grpc.StatusCode.UNAUTHENTICATED: CredentialError,
    grpc.StatusCode.PERMISSION_DENIED: NotAllowedError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: LimitReachedError,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequestError,
}


def error_of(message: str, facts: Facts) -> HoldfastError:
    """An error without a class of its own has the class of its code."""
    kind = _CLASSES.get(facts.reason) or _CLASSES_OF_CODES.get(facts.code) or HoldfastError
    return kind(message, facts)


_REFUSALS = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


def no_answer(what: str, last: Optional[HoldfastError] = None) -> HoldfastError:
    """No answer came in time.

    If the servers refuse the client, the error has the class of the refusal.
    """
    reason = (last.reason if last else "") or "NO_ANSWER"
    code = last.code if last and last.code in _REFUSALS else grpc.StatusCode.UNAVAILABLE
    error = error_of(f"{what}: {last}" if last else what, Facts(reason, code))
    error.__cause__ = last
    return error
