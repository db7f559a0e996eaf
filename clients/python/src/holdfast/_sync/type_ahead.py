"""Suggestions for an input field."""

from concurrent.futures import Future
from types import TracebackType
from typing import List, Optional, Type

from .._autocomplete import Suggestion
from ..aio._type_ahead import TypeAhead as AioTypeAhead
from .portal import Portal


class TypeAhead:
    """One stream answers all keystrokes, and a newer query supersedes the older ones."""

    def __init__(self, type_ahead: AioTypeAhead, portal: Portal) -> None:
        self._type_ahead = type_ahead
        self._portal = portal

    def type(self, text: str) -> Optional[List[Suggestion]]:
        """The suggestions for the text of the input field.

        Blocks until the answer comes. None: a newer query, of another thread or of `submit`, has
        superseded this query, so show nothing. Raises a HoldfastError.
        """
        return self._portal.run(self._type_ahead.type(text))

    def submit(self, text: str) -> "Future[Optional[List[Suggestion]]]":
        """As `type`, without blocking: one thread can supersede its own query.

        The callbacks of the future run in the thread of the client, and must not block. Raises a
        ClosedError if the client is closed.
        """
        return self._portal.submit(self._type_ahead.type(text))

    def close(self) -> None:
        """Ends the stream. A query without an answer raises a ClosedError."""
        self._portal.run(self._type_ahead.close())

    def __enter__(self) -> "TypeAhead":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()
