"""The leases in which this process believes, and the ids of those that are over."""

import math
from typing import Dict, List, Optional

from . import numbers
from .held_lease import HeldLease


class HeldLeases:
    def __init__(self) -> None:
        self._held: Dict[str, HeldLease] = {}
        # A dict keeps the order, so that the earliest id is forgotten first.
        self._over: Dict[str, None] = {}
        #: The number of leases by ttl.
        self._ttls: Dict[float, int] = {}

    def __len__(self) -> int:
        return len(self._held)

    def get(self, lease_id: str) -> Optional[HeldLease]:
        return self._held.get(lease_id)

    def is_over(self, lease_id: str) -> bool:
        """A lease that is over stays over, whatever a session reports."""
        return lease_id in self._over

    def add(self, lease: HeldLease) -> None:
        self._held[lease.lease_id] = lease
        self._count(lease.ttl, 1)

    def end(self, lease: HeldLease) -> None:
        if self._held.pop(lease.lease_id, None) is not None:
            self._count(lease.ttl, -1)
        self._over[lease.lease_id] = None
        if len(self._over) > numbers.MAX_ENDED_LEASES_REMEMBERED:
            del self._over[next(iter(self._over))]

    def change_ttl(self, lease: HeldLease, ttl: float) -> None:
        if ttl == lease.ttl or ttl <= 0 or lease.lease_id not in self._held:
            return
        self._count(lease.ttl, -1)
        lease.ttl = ttl
        self._count(ttl, 1)

    @property
    def shortest_ttl(self) -> float:
        """Infinite without a lease."""
        return min(self._ttls, default=math.inf)

    def nearest_deadline(self, now: float) -> float:
        """The time to the nearest deadline (seconds). Infinite without a lease."""
        return min((lease.deadline for lease in self._held.values()), default=math.inf) - now

    def by_deadline(self) -> List[HeldLease]:
        """The earliest deadline first. Without leases that are over."""
        held = [lease for lease in self._held.values() if not lease.is_over]
        return sorted(held, key=lambda lease: lease.deadline)

    def _count(self, ttl: float, change: int) -> None:
        count = self._ttls.get(ttl, 0) + change
        if count > 0:
            self._ttls[ttl] = count
        else:
            self._ttls.pop(ttl, None)
