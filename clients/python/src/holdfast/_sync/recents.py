"""The latest choices of one user."""

from typing import List, Optional, Sequence

from .._autocomplete import Suggestion
from .._core.durations import TimeSpan
from ..aio._recents import Recents as AioRecents
from .portal import Portal


class Recents:
    """All methods raise a HoldfastError. `timeout`: seconds with all repetitions, default 10."""

    def __init__(self, recents: AioRecents, portal: Portal) -> None:
        self.name = recents.name
        self._recents = recents
        self._portal = portal

    def add(
        self,
        text: str,
        *,
        entry_id: str = "",
        payload: bytes = b"",
        capacity: Optional[int] = None,
        timeout: Optional[TimeSpan] = None,
    ) -> None:
        """Puts a text at the front of the list.

        entry_id: the entry that the text stands for.
        payload: at most 1 KiB.
        capacity: the number of texts that the list keeps from now on. Default: 100, range: 1 to
            1000.
        """
        self._portal.run(
            self._recents.add(
                text, entry_id=entry_id, payload=payload, capacity=capacity, timeout=timeout
            )
        )

    def remove(self, text: str, *, timeout: Optional[TimeSpan] = None) -> bool:
        """False: the list does not have the text."""
        return self._portal.run(self._recents.remove(text, timeout=timeout))

    def suggest(
        self,
        query: str = "",
        *,
        limit: Optional[int] = None,
        match_kinds: Sequence[str] = (),
        timeout: Optional[TimeSpan] = None,
    ) -> List[Suggestion]:
        """The latest matching texts. An empty query gives the latest texts.

        limit: default 10, at most 100.
        match_kinds: default: all kinds.
        """
        return self._portal.run(
            self._recents.suggest(query, limit=limit, match_kinds=match_kinds, timeout=timeout)
        )

    def delete(self, *, timeout: Optional[TimeSpan] = None) -> bool:
        """Deletes the whole list. False: there is none."""
        return self._portal.run(self._recents.delete(timeout=timeout))
