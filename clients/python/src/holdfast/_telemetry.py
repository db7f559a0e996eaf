"""Spans of OpenTelemetry. The package opentelemetry-api is not needed without a tracer."""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Dict, Iterator, Optional

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


@contextmanager
def span(tracer: "Optional[Tracer]", name: str, attributes: Dict[str, str]) -> Iterator[None]:
    """Without a tracer there is no span."""
    if tracer is None:
        yield
        return
    # Records an exception, and sets the status of the span.
    with tracer.start_as_current_span(name, attributes=attributes):
        yield
