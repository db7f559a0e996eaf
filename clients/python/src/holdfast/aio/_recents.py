"""The latest choices of one user."""

from typing import List, Optional, Sequence

from .._autocomplete import Suggestion, match_kind_codes, suggestions_of
from .._core.durations import TimeSpan
from ..v1 import autocomplete_service_pb2 as pb
from ..v1.autocomplete_service_pb2_grpc import AutocompleteServiceStub as Stub
from ._calls import CallChannel


class Recents:
    """All methods raise a HoldfastError. `timeout`: seconds with all repetitions, default 10."""

    def __init__(self, calls: CallChannel, name: str) -> None:
        self.name = name
        self._calls = calls

    async def add(
        self,
        text: str,
        *,
        entry_id: str = "",
        payload: bytes = b"",
        capacity: Optional[int] = None,
        timeout: Optional[TimeSpan] = None,
    ) -> None:
        """Puts a text at the front of the list, as `holdfast.Recents.add`."""
        request = pb.AddRecentRequest(
            list=self.name, text=text, entry_id=entry_id, payload=payload, capacity=capacity
        )
        await self._calls.unary(lambda on: Stub(on).AddRecent, request, timeout=timeout)

    async def remove(self, text: str, *, timeout: Optional[TimeSpan] = None) -> bool:
        """False: the list does not have the text."""
        request = pb.RemoveRecentRequest(list=self.name, text=text)
        response = await self._calls.unary(
            lambda on: Stub(on).RemoveRecent, request, timeout=timeout
        )
        return response.removed

    async def suggest(
        self,
        query: str = "",
        *,
        limit: Optional[int] = None,
        match_kinds: Sequence[str] = (),
        timeout: Optional[TimeSpan] = None,
    ) -> List[Suggestion]:
        """The latest matching texts, as `holdfast.Recents.suggest`."""
        request = pb.SuggestRecentsRequest(
            list=self.name,
            query=query,
            page_size=limit or 0,
            match_kinds=match_kind_codes(match_kinds),
        )
        response = await self._calls.unary(
            lambda on: Stub(on).SuggestRecents, request, timeout=timeout
        )
        return suggestions_of(response.suggestions)

    async def delete(self, *, timeout: Optional[TimeSpan] = None) -> bool:
        """Deletes the whole list. False: there is none."""
        request = pb.DeleteRecentsRequest(list=self.name)
        response = await self._calls.unary(
            lambda on: Stub(on).DeleteRecents, request, timeout=timeout
        )
        return response.deleted
