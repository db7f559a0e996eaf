"""The client of asyncio: `async with aio.connect("127.0.0.1:50051") as hf:`."""

from ._acquiring import Acquiring
from ._client import Holdfast
from ._connect import connect
from ._dictionary import Dictionary
from ._election import Election
from ._lease import LeaderLease, Lease
from ._recents import Recents
from ._type_ahead import TypeAhead

__all__ = [
    "Acquiring",
    "Dictionary",
    "Election",
    "Holdfast",
    "LeaderLease",
    "Lease",
    "Recents",
    "TypeAhead",
    "connect",
]
