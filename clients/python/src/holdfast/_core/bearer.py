"""A token, and its life."""

from dataclasses import dataclass, field
from typing import Optional


@dataclass(frozen=True)
class BearerToken:
    """A bearer token for sessions and calls."""

    token: str = field(repr=False)
    #: The next session is opened with a new token before this time (seconds) has passed. None:
    #: the token does not end.
    expires_in: Optional[float] = None
