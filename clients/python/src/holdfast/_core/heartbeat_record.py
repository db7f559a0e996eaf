"""The times at which the heartbeats of one session were sent."""

import math
from typing import Dict, Optional

from . import numbers


class HeartbeatRecord:
    def __init__(self) -> None:
        self._sent_at: Dict[int, float] = {}
        self._latest = 0
        self._answered = 0

    def send(self, now: float) -> int:
        """Call before the heartbeat is passed to the gRPC library. Returns the heartbeat's id."""
        self._latest += 1
        self._sent_at[self._latest] = now
        if len(self._sent_at) > numbers.MAX_HEARTBEATS_REMEMBERED:
            self._sent_at.pop(self._latest - numbers.MAX_HEARTBEATS_REMEMBERED, None)
        return self._latest

    def answer(self, heartbeat_id: int) -> Optional[float]:
        """The time of the heartbeat that a response names.

        Forgets all earlier heartbeats, because later responses never name them. None: the
        heartbeat was never sent or is forgotten, so nothing in the response may be believed.
        """
        t0 = self._sent_at.get(heartbeat_id)
        if t0 is None:
            return None
        for earlier in [number for number in self._sent_at if number < heartbeat_id]:
            del self._sent_at[earlier]
        self._answered = heartbeat_id
        return t0

    @property
    def last_sent_at(self) -> float:
        """The time of the latest heartbeat. -Infinity before the first."""
        return self._sent_at.get(self._latest, -math.inf)

    @property
    def unanswered_since(self) -> Optional[float]:
        """The time of the earliest heartbeat without an answer. None: all have one."""
        earliest = max(self._answered + 1, self._latest - numbers.MAX_HEARTBEATS_REMEMBERED + 1)
        return self._sent_at.get(earliest)
