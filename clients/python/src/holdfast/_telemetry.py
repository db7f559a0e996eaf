"""Spans of OpenTelemetry. The package opentelemetry-api is not needed without a tracer."""

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, ContextManager, Dict, Iterator, Optional

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_logger = logging.getLogger("holdfast")


@contextmanager
def span(tracer: "Optional[Tracer]", name: str, attributes: Dict[str, str]) -> Iterator[None]:
    """Without a tracer there is no span."""
    if tracer is None:
        yield
        return
    # Records an exception, and sets the status of the span.
    manager = tracer.start_as_current_span(name, attributes=attributes)
    manager.__enter__()
    try:
        yield
    except BaseException as error:
        _end(manager, error)
        raise
    _end(manager, None)


def _end(manager: "ContextManager[Span]", error: Optional[BaseException]) -> None:
    """A tracer that raises hides no lease from the caller who would release it."""
    try:
        if error is None:
            manager.__exit__(None, None, None)
        else:
            manager.__exit__(type(error), error, error.__traceback__)
    except Exception:
        _logger.exception("the tracer has raised")
