"""Locks, permits, leader election and autocomplete from a Holdfast server.

`connect` gives the client for code with threads, holdfast.aio the client of asyncio. The stubs of
the contract are in holdfast.v1.
"""

import logging

from ._fork import without_handlers

with without_handlers():
    import grpc as _grpc  # noqa: F401

from ._autocomplete import DictionaryInfo, Entry, ListedEntry, Profile, Segment, Suggestion
from ._core.acquire_intent import QueuePlace
from ._core.bearer import BearerToken
from ._core.durations import TimeSpan
from ._leader import Leader
from ._options import Addresses, Tls, TokenFile, TokenOption
from ._pem import Pem
from ._server_info import ServerInfo
from ._sync.acquiring import Acquiring
from ._sync.client import Holdfast, connect
from ._sync.dictionary import Dictionary
from ._sync.election import Election
from ._sync.lease import LeaderLease, Lease
from ._sync.recents import Recents
from ._sync.type_ahead import TypeAhead
from .errors import (
    ClosedError,
    ContendedError,
    CredentialError,
    DictionaryExistsError,
    FieldViolation,
    HoldfastError,
    ImportConflictError,
    InvalidRequestError,
    LeaseLost,
    LimitMismatchError,
    LimitReachedError,
    LossCause,
    NeverFitsError,
    NoSuchDictionaryError,
    NoSuchSemaphoreError,
    NotAllowedError,
    UnavailableError,
)

__all__ = [
    "Acquiring",
    "Addresses",
    "BearerToken",
    "ClosedError",
    "ContendedError",
    "CredentialError",
    "Dictionary",
    "DictionaryExistsError",
    "DictionaryInfo",
    "Election",
    "Entry",
    "FieldViolation",
    "Holdfast",
    "HoldfastError",
    "ImportConflictError",
    "InvalidRequestError",
    "Leader",
    "LeaderLease",
    "Lease",
    "LeaseLost",
    "LimitMismatchError",
    "LimitReachedError",
    "ListedEntry",
    "LossCause",
    "NeverFitsError",
    "NoSuchDictionaryError",
    "NoSuchSemaphoreError",
    "NotAllowedError",
    "Pem",
    "Profile",
    "QueuePlace",
    "Recents",
    "Segment",
    "ServerInfo",
    "Suggestion",
    "TimeSpan",
    "Tls",
    "TokenFile",
    "TokenOption",
    "TypeAhead",
    "UnavailableError",
    "connect",
]

logging.getLogger("holdfast").addHandler(logging.NullHandler())
