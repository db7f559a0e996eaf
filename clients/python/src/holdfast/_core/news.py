"""What happens to the sessions of a client, as messages of a log without secrets."""

import json
import logging
from typing import Any, Optional

from ..errors import HoldfastError, LeaseLost


class News:
    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def started(self, address: str) -> None:
        self._say(logging.INFO, "a session with %s has started", address)

    def leaving(self, address: str) -> None:
        self._say(logging.INFO, "%s asks to leave, the next session follows", address)

    def ended(self, address: str, error: HoldfastError) -> None:
        address = address or "no server"
        self._say(logging.WARNING, "the session with %s has ended: %s", address, error)

    def attached(self, address: str, name: str) -> None:
        self._say(logging.DEBUG, "%s renews the lease of %s", address, _quoted(name))

    def renewal_failed(self, name: str) -> None:
        self._say(logging.WARNING, "a renewal of the lease of %s has failed", _quoted(name))

    def lost(self, loss: LeaseLost) -> None:
        self._say(logging.WARNING, "%s", loss)

    def other_limit(self, name: str, limit: int, expected: int) -> None:
        text = (
            "the semaphore %s has the limit %d, not %d: the option limit does not change it,"
            " and exact_limit would have refused the permits"
        )
        self._say(logging.WARNING, text, _quoted(name), limit, expected)

    def forgotten(self, name: str) -> None:
        text = (
            "the lease of %s was forgotten without a release:"
            " the client renews it until it is closed"
        )
        self._say(logging.WARNING, text, _quoted(name))

    def not_released(self, name: str, error: HoldfastError) -> None:
        self._say(logging.WARNING, "%s: %s", _quoted(name), error)

    def raised(self, error: BaseException) -> None:
        self._say(logging.ERROR, "a callback has raised", error=error)

    def _say(
        self, level: int, text: str, *values: Any, error: Optional[BaseException] = None
    ) -> None:
        """A logger that raises ends no session. There is nowhere to report its error."""
        try:
            self._logger.log(level, text, *values, exc_info=error)
        except Exception:
            pass


def _quoted(name: str) -> str:
    """JSON escapes control characters."""
    return json.dumps(name)
