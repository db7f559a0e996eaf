"""Entries and suggestions, and the messages that carry them."""

from dataclasses import dataclass, field
from typing import Iterable, List, Optional, Sequence, Tuple

from ._core import numbers
from ._core.durations import TimeSpan, duration, to_seconds
from .v1 import autocomplete_service_pb2 as pb

#: The server gives no more suggestions at once.
LARGEST_PAGE = 100

#: The bytes of an entry in a message, beside the entry itself.
_FRAME_BYTES = 8


@dataclass(frozen=True)
class Entry:
    """An entry of a dictionary."""

    #: 1 to 512 bytes.
    id: str
    #: The text that is shown and searched: 1 to 512 bytes.
    text: str
    #: Other texts that find the entry.
    aliases: Sequence[str] = ()
    #: A greater weight ranks earlier. 0 to 2**52.
    weight: int = 0
    #: Data for the program that shows the entry: at most 1 KiB.
    payload: bytes = b""


@dataclass(frozen=True)
class ListedEntry(Entry):
    selection_count: int = 0


@dataclass(frozen=True)
class Profile:
    """How a dictionary matches. Fixed when the dictionary is created."""

    #: False: a query without accents finds texts with accents.
    keeps_accents: bool = True
    matches_typos: bool = True


@dataclass(frozen=True)
class Segment:
    """A part of the text of a suggestion."""

    text: str
    #: Whether the query matches this part.
    matched: bool


@dataclass(frozen=True)
class Suggestion:
    #: Empty for a recent without an entry.
    id: str
    text: str
    #: The parts of the text in order.
    segments: Tuple[Segment, ...] = field(repr=False)
    payload: bytes = field(repr=False)
    #: How the query matches: EXACT, PREFIX, WORD_PREFIX, SUFFIX, CONTAINS or TYPO, in the order
    #: of rank. A newer server may have other kinds, which have a number here.
    match_kind: str
    score: int
    is_recent: bool


@dataclass(frozen=True)
class DictionaryInfo:
    name: str
    profile: Profile
    entry_count: int
    memory_bytes: int
    #: Rises with each import.
    generation: int


class Batches:
    """Entries in batches that fit into a message. At most one batch is in memory."""

    def __init__(self) -> None:
        self._batch: List[pb.Entry] = []
        self._bytes = 0

    def add(self, entry: Entry) -> Optional[List[pb.Entry]]:
        """Returns the batch before this entry if the batch is full."""
        message = entry_message(entry)
        size = message.ByteSize() + _FRAME_BYTES
        full: Optional[List[pb.Entry]] = None
        is_full = (
            len(self._batch) >= numbers.MAX_ENTRIES_IN_MESSAGE
            or self._bytes + size > numbers.MAX_ENTRY_BYTES_IN_MESSAGE
        )
        if self._batch and is_full:
            full = self.rest()
        self._batch.append(message)
        self._bytes += size
        return full

    def rest(self) -> List[pb.Entry]:
        batch, self._batch, self._bytes = self._batch, [], 0
        return batch


def batches(entries: Iterable[Entry]) -> Iterable[List[pb.Entry]]:
    collected = Batches()
    for entry in entries:
        batch = collected.add(entry)
        if batch is not None:
            yield batch
    rest = collected.rest()
    if rest:
        yield rest


def entry_message(entry: Entry) -> pb.Entry:
    return pb.Entry(
        entry_id=entry.id,
        text=entry.text,
        aliases=entry.aliases,
        weight=entry.weight,
        payload=entry.payload,
    )


def listed_entry(listed: pb.ListedEntry) -> ListedEntry:
    entry = listed.entry
    return ListedEntry(
        id=entry.entry_id,
        text=entry.text,
        aliases=tuple(entry.aliases),
        weight=entry.weight,
        payload=entry.payload,
        selection_count=listed.selection_count,
    )


def profile_message(profile: Optional[Profile]) -> Optional[pb.Profile]:
    """None: the server chooses the profile."""
    if profile is None:
        return None
    return pb.Profile(
        accents=(
            pb.AccentHandling.ACCENT_HANDLING_KEPT
            if profile.keeps_accents
            else pb.AccentHandling.ACCENT_HANDLING_DROPPED
        ),
        typo_matching=(
            pb.TypoMatching.TYPO_MATCHING_ON
            if profile.matches_typos
            else pb.TypoMatching.TYPO_MATCHING_OFF
        ),
    )


def dictionary_info(message: pb.Dictionary) -> DictionaryInfo:
    profile = Profile(
        message.profile.accents != pb.AccentHandling.ACCENT_HANDLING_DROPPED,
        message.profile.typo_matching != pb.TypoMatching.TYPO_MATCHING_OFF,
    )
    return DictionaryInfo(
        message.name, profile, message.entry_count, message.memory_bytes, message.generation
    )


def suggest_request(
    dictionary: str,
    limit: Optional[int],
    match_kinds: Sequence[str],
    recents: str,
    max_staleness: Optional[TimeSpan],
) -> pb.SuggestRequest:
    staleness = None
    if max_staleness is not None:
        staleness = duration(to_seconds(max_staleness, "max_staleness"))
    return pb.SuggestRequest(
        dictionary=dictionary,
        page_size=limit or 0,
        match_kinds=match_kind_codes(match_kinds),
        recents_list=recents,
        max_staleness=staleness,
    )


def suggestions_of(messages: Iterable[pb.Suggestion]) -> List[Suggestion]:
    return [_suggestion(message) for message in messages]


def match_kind_codes(kinds: Sequence[str]) -> "List[pb.MatchKind.ValueType]":
    """Raises a ValueError for an unknown kind."""
    return [pb.MatchKind.Value(f"MATCH_KIND_{kind}") for kind in kinds]


_MATCH_KINDS = {number: name[len("MATCH_KIND_") :] for name, number in pb.MatchKind.items()}


def _suggestion(message: pb.Suggestion) -> Suggestion:
    return Suggestion(
        id=message.entry_id,
        text=message.text,
        segments=tuple(Segment(one.text, one.matched) for one in message.segments),
        payload=message.payload,
        match_kind=_MATCH_KINDS.get(message.match_kind, str(message.match_kind)),
        score=message.score,
        is_recent=message.recent,
    )
