"""Locks, permits, leader election and autocomplete from a Holdfast server.

The client of asyncio is in holdfast.aio, the stubs of the contract are in holdfast.v1.
"""

import logging

from ._autocomplete import DictionaryInfo, Entry, ListedEntry, Profile, Segment, Suggestion
from ._core.acquire_intent import QueuePlace
from ._core.bearer import BearerToken
from ._core.durations import TimeSpan
from ._leader import Leader
from ._options import Addresses, Pem, Tls, TokenFile, TokenOption
from ._server_info import ServerInfo
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
    "Addresses",
    "BearerToken",
    "ClosedError",
    "ContendedError",
    "CredentialError",
    "DictionaryExistsError",
    "DictionaryInfo",
    "Entry",
    "FieldViolation",
    "HoldfastError",
    "ImportConflictError",
    "InvalidRequestError",
    "Leader",
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
    "Segment",
    "ServerInfo",
    "Suggestion",
    "TimeSpan",
    "Tls",
    "TokenFile",
    "TokenOption",
    "UnavailableError",
]

logging.getLogger("holdfast").addHandler(logging.NullHandler())
