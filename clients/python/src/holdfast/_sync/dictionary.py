"""A set of entries that all callers share."""

from typing import Generator, Iterable, List, Optional, Sequence

from .._autocomplete import (
    LARGEST_PAGE,
    DictionaryInfo,
    Entry,
    ListedEntry,
    Profile,
    Suggestion,
    batches,
)
from .._core import numbers
from .._core.durations import TimeSpan
from ..aio._dictionary import Dictionary as AioDictionary
from .portal import Portal
from .type_ahead import TypeAhead


class Dictionary:
    """All methods raise a HoldfastError. `timeout`: seconds with all repetitions, default 10."""

    def __init__(self, dictionary: AioDictionary, portal: Portal) -> None:
        self.name = dictionary.name
        self._dictionary = dictionary
        self._portal = portal

    def create(
        self, profile: Optional[Profile] = None, *, timeout: Optional[TimeSpan] = None
    ) -> None:
        """Without effect if the dictionary exists with the same profile."""
        self._portal.run(self._dictionary.create(profile, timeout=timeout))

    def put(self, entries: Iterable[Entry], *, timeout: TimeSpan = numbers.PUT) -> None:
        """Adds or replaces entries. Queries see each batch of up to 1,000 entries as a whole.

        timeout: of each batch, default 120 s.
        """
        for batch in batches(entries):
            self._portal.run(self._dictionary.put_batch(batch, timeout=timeout))

    def delete_entries(self, ids: Sequence[str], *, timeout: Optional[TimeSpan] = None) -> int:
        """Returns the number of entries that existed. At most 1,000 ids."""
        return self._portal.run(self._dictionary.delete_entries(ids, timeout=timeout))

    def import_entries(
        self, entries: Iterable[Entry], profile: Optional[Profile] = None
    ) -> DictionaryInfo:
        """Replaces all entries in one step.

        Reads the entries in this thread, as fast as the server takes them, so that they need not
        fit into memory. An import that fails changes nothing.

        profile: default: the dictionary keeps its profile, and a new dictionary has the defaults.
            Another profile than the dictionary's raises a DictionaryExistsError.
        """
        importing = self._dictionary.importing(profile)
        self._portal.run(importing.__aenter__())
        try:
            for batch in batches(entries):
                self._portal.run(importing.send(batch))
            return self._portal.run(importing.commit())
        finally:
            self._portal.run(importing.__aexit__(None, None, None))

    def suggest(
        self,
        query: str,
        *,
        limit: Optional[int] = None,
        match_kinds: Sequence[str] = (),
        recents: str = "",
        max_staleness: Optional[TimeSpan] = None,
        timeout: Optional[TimeSpan] = None,
    ) -> List[Suggestion]:
        """The best entries for a query.

        limit: default 10, at most 100.
        match_kinds: default: all kinds.
        recents: the caller's list of recents, which rank first.
        max_staleness: how old the answer may be. Default: 0, at most 1 hour.
        """
        return self._portal.run(
            self._dictionary.suggest(
                query,
                limit=limit,
                match_kinds=match_kinds,
                recents=recents,
                max_staleness=max_staleness,
                timeout=timeout,
            )
        )

    def suggest_all(
        self,
        query: str,
        *,
        page_size: int = LARGEST_PAGE,
        match_kinds: Sequence[str] = (),
        recents: str = "",
        max_staleness: Optional[TimeSpan] = None,
        timeout: Optional[TimeSpan] = None,
    ) -> Generator[Suggestion, None, None]:
        """All suggestions for a query, the best first, page by page.

        page_size: the suggestions of one call. Default and maximum: 100.
        timeout: of each page.

        The other options are those of `suggest`.
        """
        suggestions = self._dictionary.suggest_all(
            query,
            page_size=page_size,
            match_kinds=match_kinds,
            recents=recents,
            max_staleness=max_staleness,
            timeout=timeout,
        )
        return self._portal.iterate(suggestions)

    def type_ahead(
        self,
        *,
        debounce: TimeSpan = numbers.DEBOUNCE,
        limit: Optional[int] = None,
        match_kinds: Sequence[str] = (),
        recents: str = "",
        max_staleness: Optional[TimeSpan] = None,
    ) -> TypeAhead:
        """Suggestions while somebody types. Close the result when the input field is gone.

        debounce: the pause after a keystroke before the query is sent. Default: 30 ms. 0: each
            keystroke is sent.
        """

        async def opened() -> TypeAhead:
            type_ahead = self._dictionary.type_ahead(
                debounce=debounce,
                limit=limit,
                match_kinds=match_kinds,
                recents=recents,
                max_staleness=max_staleness,
            )
            return TypeAhead(type_ahead, self._portal)

        return self._portal.run(opened())

    def record_selection(
        self, entry_id: str, count: int = 1, *, timeout: Optional[TimeSpan] = None
    ) -> bool:
        """Counts selections of an entry, which raise its score. False: no such entry."""
        return self._portal.run(
            self._dictionary.record_selection(entry_id, count, timeout=timeout)
        )

    def entries(self, *, timeout: Optional[TimeSpan] = None) -> Generator[ListedEntry, None, None]:
        """All entries in the order of their texts, page by page."""
        return self._portal.iterate(self._dictionary.entries(timeout=timeout))

    def info(self, *, timeout: Optional[TimeSpan] = None) -> DictionaryInfo:
        return self._portal.run(self._dictionary.info(timeout=timeout))

    def delete(self, *, timeout: Optional[TimeSpan] = None) -> bool:
        """Deletes the dictionary with all entries. False: there is none."""
        return self._portal.run(self._dictionary.delete(timeout=timeout))
