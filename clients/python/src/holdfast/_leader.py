"""The leader of an election."""

from dataclasses import dataclass
from typing import Optional

from .v1.lock_service_pb2 import Lock

#: The metadata entry of the lease that has the leader's value.
VALUE = "value"


@dataclass(frozen=True)
class Leader:
    #: The text that the leader has given, for example its address.
    value: str
    #: Rises with each leader.
    fencing_token: int
    holder_id: str


def leader_of(lock: Lock) -> Optional[Leader]:
    for holder in lock.holders:
        value = holder.metadata[VALUE] if VALUE in holder.metadata else ""
        return Leader(value, holder.fencing_token, holder.holder_id)
    return None
