"""A lease in one session, and its attach in the next."""

from typing import Optional, Protocol

from google.protobuf.duration_pb2 import Duration

from ..errors import HoldfastError, LossCause
from ..v1.session_service_pb2 import CommandFailed, LeaseRenewal, SessionEndCause, SessionEvent
from .durations import deadline, seconds_of
from .held_lease import HeldLease
from .held_leases import HeldLeases
from .open_session import CommandOwner, OpenSession, Receipt
from .status import error_of_command

_END_CAUSES = {
    number: LossCause(name[len("SESSION_END_CAUSE_") :])
    for name, number in SessionEndCause.items()
    if number != SessionEndCause.SESSION_END_CAUSE_UNSPECIFIED
    and name[len("SESSION_END_CAUSE_") :] in LossCause.__members__
}


class OwnerKeeper(Protocol):
    """What the owner of a lease asks of the client."""

    leases: HeldLeases

    def attached(self, lease: HeldLease, session: OpenSession, number: int) -> None: ...

    def renewal_failed(self, lease: HeldLease) -> None: ...

    def release_unwanted(self, lease_id: str, ttl: float) -> None:
        """The lease is over, but a session holds it."""

    def repeat_attach(self, lease: HeldLease, error: HoldfastError, session: OpenSession) -> None:
        """Repeats the attach after a pause."""


class LeaseOwner(CommandOwner):
    def __init__(self, lease: HeldLease, keeper: OwnerKeeper) -> None:
        self._lease = lease
        self._keeper = keeper

    def event(
        self, event: SessionEvent, receipt: Receipt, session: OpenSession
    ) -> Optional[CommandOwner]:
        lease, kind = self._lease, event.WhichOneof("event")
        if kind == "renewal_failed":
            self._confirm(event.renewal_failed.expire_offset, receipt)
            self._keeper.renewal_failed(lease)
        elif kind == "ended":
            # After the attach was sent in a later session, only the answer to the attach decides.
            if lease.home is None or session.number >= lease.home.number:
                lease.end(_END_CAUSES.get(event.ended.cause, LossCause.UNRECOGNIZED))
        return None

    def renewed(self, renewal: LeaseRenewal, receipt: Receipt) -> None:
        if renewal.HasField("ttl"):
            self._keeper.leases.change_ttl(self._lease, seconds_of(renewal.ttl))
        self._confirm(renewal.expire_offset, receipt)

    def _confirm(self, offset: Duration, receipt: Receipt) -> None:
        lease = self._lease
        lease.confirm(deadline(receipt.t0, seconds_of(offset), lease.ttl, receipt.at))


class AttachOwner(CommandOwner):
    def __init__(self, lease: HeldLease, keeper: OwnerKeeper) -> None:
        self._lease = lease
        self._keeper = keeper

    @property
    def is_over(self) -> bool:
        """Thousands of attaches may wait for the window, while the work of their leases ends."""
        return self._lease.is_over

    def event(
        self, event: SessionEvent, receipt: Receipt, session: OpenSession
    ) -> Optional[CommandOwner]:
        kind = event.WhichOneof("event")
        if kind == "failed":
            self.failed(event.failed, session)
        if kind != "granted":
            return None
        lease, keeper, message = self._lease, self._keeper, event.granted.lease
        ttl = seconds_of(message.ttl)
        lease.confirm(deadline(receipt.t0, seconds_of(message.expire_offset), ttl, receipt.at))
        if lease.is_over or message.fencing_token != lease.token:
            keeper.release_unwanted(message.lease_id, lease.ttl)
            return None
        keeper.leases.change_ttl(lease, ttl)
        if lease.home is session:
            keeper.attached(lease, session, event.command_id)
        return LeaseOwner(lease, keeper)

    def failed(self, failed: CommandFailed, session: OpenSession) -> None:
        """After every error except these two the deadline decides."""
        lease = self._lease
        if lease.home is not session or lease.is_over:
            return
        error = error_of_command(failed)
        if error.reason == "LEASE_NOT_HELD":
            lease.end(LossCause.LEASE_NOT_HELD)
        elif error.reason == "SUPERSEDED":
            lease.end(LossCause.SUPERSEDED)
        else:
            self._keeper.repeat_attach(lease, error, session)
