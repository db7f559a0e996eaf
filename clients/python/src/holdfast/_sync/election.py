"""Leader election: the holder of the lock with the name of the election is the leader."""

from typing import Generator, Mapping, Optional

from .._core.durations import TimeSpan
from .._leader import Leader
from .._requests import OnQueued
from ..aio._election import Election as AioElection
from .acquiring import Acquiring
from .lease import LeaderLease
from .portal import Portal, harmless


class Election:
    def __init__(self, election: AioElection, portal: Portal) -> None:
        self.name = election.name
        self._election = election
        self._portal = portal

    def campaign(
        self,
        value: str,
        *,
        ttl: Optional[TimeSpan] = None,
        wait: Optional[TimeSpan] = None,
        max_hold: Optional[TimeSpan] = None,
        metadata: Optional[Mapping[str, str]] = None,
        on_queued: Optional[OnQueued] = None,
    ) -> Acquiring[LeaderLease]:
        """`with election.campaign(value) as lease:` waits until this process is the leader.

        The end of the block resigns. `campaign(value).acquire()` gives the lease itself.

        value: a text for the others, for example the address of this process. It is the entry
            `value` of the lease's metadata, and an update without this entry keeps it.

        The other options are those of `Holdfast.lock`.
        """
        acquiring = self._election.campaign(
            value,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            metadata=metadata,
            on_queued=None if on_queued is None else harmless(on_queued),
        )
        return Acquiring(acquiring, self._portal, LeaderLease)

    def leader(self) -> Optional[Leader]:
        """The present leader. None: there is none."""
        return self._portal.run(self._election.leader())

    def observe(self) -> Generator[Optional[Leader], None, None]:
        """The leader at once, and after each change. None while there is none.

        Blocks between changes. Raises a ClosedError when the client is closed.
        """
        return self._portal.iterate(self._election.observe())
