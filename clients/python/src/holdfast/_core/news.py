"""What happens to the sessions of a client, as messages of a log without secrets."""

import json
import logging

from ..errors import HoldfastError
from .held_lease import HeldLease


class News:
    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def started(self, address: str) -> None:
        self._logger.info("a session with %s has started", address)

    def leaving(self, address: str) -> None:
        self._logger.info("%s asks to leave, the next session follows", address)

    def ended(self, address: str, error: HoldfastError) -> None:
        self._logger.warning("the session with %s has ended: %s", address or "no server", error)

    def attached(self, address: str, lease: HeldLease) -> None:
        self._logger.debug("%s renews the lease of %s", address, _quoted(lease))

    def renewal_failed(self, lease: HeldLease) -> None:
        self._logger.warning("a renewal of the lease of %s has failed", _quoted(lease))

    def lost(self, lease: HeldLease) -> None:
        self._logger.error("%s", lease.loss)


def _quoted(lease: HeldLease) -> str:
    """JSON escapes control characters."""
    return json.dumps(lease.name)
