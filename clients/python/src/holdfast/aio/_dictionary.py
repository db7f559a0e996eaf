"""A set of entries that all callers share."""

from typing import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Iterable,
    List,
    Optional,
    Sequence,
    Union,
)

from .._autocomplete import (
    LARGEST_PAGE,
    Batches,
    DictionaryInfo,
    Entry,
    ListedEntry,
    Profile,
    Suggestion,
    dictionary_info,
    listed_entry,
    profile_message,
    suggest_request,
    suggestions_of,
)
from .._core import numbers
from .._core.durations import TimeSpan
from ..v1 import autocomplete_service_pb2 as pb
from ..v1.autocomplete_service_pb2_grpc import AutocompleteServiceStub as Stub
from ._calls import CallChannel
from ._importing import Importing
from ._type_ahead import TypeAhead

#: Entries in any order, for example an async generator that reads a file or a database.
Entries = Union[Iterable[Entry], AsyncIterable[Entry]]


class Dictionary:
    """All methods raise a HoldfastError. `timeout`: seconds with all repetitions, default 10."""

    def __init__(self, calls: CallChannel, name: str) -> None:
        self.name = name
        self._calls = calls

    async def create(
        self, profile: Optional[Profile] = None, *, timeout: Optional[TimeSpan] = None
    ) -> None:
        """Without effect if the dictionary exists with the same profile."""
        request = pb.CreateDictionaryRequest(
            dictionary=self.name, profile=profile_message(profile)
        )
        await self._calls.unary(lambda on: Stub(on).CreateDictionary, request, timeout=timeout)

    async def put(self, entries: Entries, *, timeout: TimeSpan = numbers.PUT) -> None:
        """Adds or replaces entries. Queries see each batch of up to 1,000 entries as a whole.

        timeout: of each batch, default 120 s.
        """
        async for batch in batches(entries):
            await self.put_batch(batch, timeout=timeout)

    async def put_batch(self, batch: List[pb.Entry], *, timeout: TimeSpan = numbers.PUT) -> None:
        request = pb.PutEntriesRequest(dictionary=self.name, entries=batch)
        await self._calls.unary(lambda on: Stub(on).PutEntries, request, timeout=timeout)

    async def delete_entries(
        self, ids: Sequence[str], *, timeout: Optional[TimeSpan] = None
    ) -> int:
        """Returns the number of entries that existed. At most 1,000 ids."""
        request = pb.DeleteEntriesRequest(dictionary=self.name, entry_ids=ids)
        response = await self._calls.unary(
            lambda on: Stub(on).DeleteEntries, request, timeout=timeout, is_idempotent=False
        )
        return response.deleted_count

    async def import_entries(
        self, entries: Entries, profile: Optional[Profile] = None
    ) -> DictionaryInfo:
        """Replaces all entries in one step, as `holdfast.Dictionary.import_entries`."""
        async with self.importing(profile) as importing:
            async for batch in batches(entries):
                await importing.send(batch)
            return await importing.commit()

    def importing(self, profile: Optional[Profile] = None) -> Importing:
        return Importing(self._calls, self.name, profile)

    async def suggest(
        self,
        query: str,
        *,
        limit: Optional[int] = None,
        match_kinds: Sequence[str] = (),
        recents: str = "",
        max_staleness: Optional[TimeSpan] = None,
        timeout: Optional[TimeSpan] = None,
    ) -> List[Suggestion]:
        """The best entries for a query. The options are those of `holdfast.Dictionary.suggest`."""
        request = suggest_request(self.name, limit, match_kinds, recents, max_staleness)
        request.query = query
        response = await self._calls.unary(lambda on: Stub(on).Suggest, request, timeout=timeout)
        return suggestions_of(response.suggestions)

    async def suggest_all(
        self,
        query: str,
        *,
        page_size: int = LARGEST_PAGE,
        match_kinds: Sequence[str] = (),
        recents: str = "",
        max_staleness: Optional[TimeSpan] = None,
        timeout: Optional[TimeSpan] = None,
    ) -> AsyncGenerator[Suggestion, None]:
        """All suggestions for a query, as `holdfast.Dictionary.suggest_all`."""
        request = suggest_request(self.name, page_size, match_kinds, recents, max_staleness)
        request.query = query
        while True:
            page = await self._calls.unary(lambda on: Stub(on).Suggest, request, timeout=timeout)
            for suggestion in suggestions_of(page.suggestions):
                yield suggestion
            request.page_token = page.next_page_token
            if not request.page_token:
                return

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

        The options are those of `holdfast.Dictionary.type_ahead`.
        """
        request = suggest_request(self.name, limit, match_kinds, recents, max_staleness)
        return TypeAhead(self._calls, request, debounce)

    async def record_selection(
        self, entry_id: str, count: int = 1, *, timeout: Optional[TimeSpan] = None
    ) -> bool:
        """Counts selections of an entry, which raise its score. False: no such entry."""
        request = pb.RecordSelectionRequest(dictionary=self.name, entry_id=entry_id, count=count)
        response = await self._calls.unary(
            lambda on: Stub(on).RecordSelection, request, timeout=timeout, is_idempotent=False
        )
        return response.recorded

    async def entries(
        self, *, timeout: Optional[TimeSpan] = None
    ) -> AsyncGenerator[ListedEntry, None]:
        """All entries in the order of their texts, page by page."""
        token = ""
        while True:
            request = pb.ListEntriesRequest(
                dictionary=self.name, page_size=numbers.PAGE_SIZE, page_token=token
            )
            page = await self._calls.unary(
                lambda on: Stub(on).ListEntries, request, timeout=timeout
            )
            for listed in page.entries:
                yield listed_entry(listed)
            token = page.next_page_token
            if not token:
                return

    async def info(self, *, timeout: Optional[TimeSpan] = None) -> DictionaryInfo:
        request = pb.GetDictionaryRequest(dictionary=self.name)
        response = await self._calls.unary(
            lambda on: Stub(on).GetDictionary, request, timeout=timeout
        )
        return dictionary_info(response.dictionary)

    async def delete(self, *, timeout: Optional[TimeSpan] = None) -> bool:
        """Deletes the dictionary with all entries. False: there is none."""
        request = pb.DeleteDictionaryRequest(dictionary=self.name)
        response = await self._calls.unary(
            lambda on: Stub(on).DeleteDictionary, request, timeout=timeout
        )
        return response.deleted


async def batches(entries: Entries) -> AsyncIterator[List[pb.Entry]]:
    """Batches that fit into a message. At most one batch is in memory."""
    collected = Batches()
    if isinstance(entries, AsyncIterable):
        async for entry in entries:
            batch = collected.add(entry)
            if batch is not None:
                yield batch
    else:
        for entry in entries:
            batch = collected.add(entry)
            if batch is not None:
                yield batch
    rest = collected.rest()
    if rest:
        yield rest
