"""What both clients tell of a lease without a wait."""

from typing import Optional

from ._core.held_lease import HeldLease
from .errors import LeaseLost


class LeaseState:
    """Any thread may ask."""

    def __init__(self, held: HeldLease) -> None:
        self._held = held

    @property
    def name(self) -> str:
        return self._held.name

    @property
    def permits(self) -> int:
        """The number of permits. 1 for a lock."""
        return self._held.permit_count

    @property
    def fencing_token(self) -> int:
        """Pass it to the protected store, which refuses smaller tokens.

        Raises LeaseLost as `check` does.
        """
        self.check()
        return self._held.token

    @property
    def is_valid(self) -> bool:
        """Whether this process may rely on the lease. Compares the clock."""
        return not self._held.is_over

    @property
    def remaining(self) -> float:
        """The time until the deadline (seconds). 0: the lease is over. Renewals add to it."""
        return self._held.remaining()

    @property
    def loss(self) -> Optional[LeaseLost]:
        """The loss of the lease. None: the lease is held, or was released by this process."""
        return self._held.loss

    def check(self) -> None:
        """Call before each step of the work. Raises LeaseLost if the lease is over."""
        cause = self._held.cause
        if cause is not None:
            raise self._held.lost(cause)

    def __repr__(self) -> str:
        """Without the `lease_id`, which is a secret."""
        state = "valid" if self.is_valid else "over"
        return f"<Lease name={self.name!r} fencing_token={self._held.token} {state}>"
