"""Reads the error reason, the metadata and the retry delay that a Holdfast server adds to a status code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Optional

import grpc

try:
    from google.rpc import error_details_pb2
    from grpc_status import rpc_status
except ImportError:  # grpcio-status is not installed, so the reason is read from a trailer
    rpc_status = None

DOMAIN = "holdfast"


@dataclass
class Fault:
    """An error of a Holdfast server. Decide by `reason`, a name of error_reason.proto, and never by the text."""

    reason: str
    metadata: Dict[str, str] = field(default_factory=dict)
    retry_after: Optional[float] = None


def holdfast_error(error: grpc.RpcError) -> Optional[Fault]:
    """Returns None for an error that does not come from a Holdfast server: CANCELLED, a failed connection."""
    return _from_details(error) or _from_trailer(error)


def _from_details(error: grpc.RpcError) -> Optional[Fault]:
    status = rpc_status.from_call(error) if rpc_status else None
    fault = None
    retry_after = None
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            fault = Fault(info.reason, dict(info.metadata))
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToTimedelta().total_seconds()
    if fault is not None:
        fault.retry_after = retry_after
    return fault


def _from_trailer(error: grpc.RpcError) -> Optional[Fault]:
    trailers = dict(error.trailing_metadata() or ())
    reason = trailers.get("holdfast-reason")
    pushback = trailers.get("grpc-retry-pushback-ms", "")
    if reason is None:
        return None
    return Fault(reason, retry_after=int(pushback) / 1000 if pushback.isdecimal() else None)
