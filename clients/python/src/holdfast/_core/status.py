"""Reads the errors of a Holdfast server: the details of a status, and the trailers."""

from typing import Dict, Iterable, List, Optional, Tuple, Union

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from ..errors import Facts, FieldViolation, HoldfastError, error_of
from ..v1.session_service_pb2 import CommandFailed
from .durations import seconds_of
from .server_texts import own_names

_DOMAIN = "holdfast"
_DETAILS = "grpc-status-details-bin"
_REASON = "holdfast-reason"
_PUSHBACK = "grpc-retry-pushback-ms"

_CODES = {code.value[0]: code for code in grpc.StatusCode}

Trailers = Iterable[Tuple[str, Union[str, bytes]]]


def code_of(number: int) -> grpc.StatusCode:
    """UNKNOWN for a number that no status code has."""
    return _CODES.get(number, grpc.StatusCode.UNKNOWN)


def error_of_command(failed: CommandFailed) -> HoldfastError:
    """The error of one command of a session."""
    delay = seconds_of(failed.retry_delay) if failed.HasField("retry_delay") else None
    violations = [_violation(one.field, one.description) for one in failed.violations]
    facts = Facts(
        failed.reason_text, code_of(failed.code), dict(failed.metadata), delay, violations
    )
    return error_of(own_names(failed.message), facts)


def error_of_call(
    code: grpc.StatusCode, text: Optional[str], trailers: Optional[Trailers]
) -> HoldfastError:
    """The error of a call or a stream."""
    values = _by_name(trailers)
    facts = _facts_of_details(code, values.get(_DETAILS)) or Facts(
        _text(values.get(_REASON)), code, retry_after=_pushback(values.get(_PUSHBACK))
    )
    # Without a reason, the text is that of the gRPC library or of a proxy.
    said = own_names(text) if text and facts.reason else text
    return error_of(said or "the stream ended without a reason", facts)


def _violation(field: str, description: str) -> FieldViolation:
    """The path of the field stays as in the contract, because a program may read it."""
    return FieldViolation(field, own_names(description))


def _by_name(trailers: Optional[Trailers]) -> Dict[str, Union[str, bytes]]:
    return {name: value for name, value in trailers or ()}


def _facts_of_details(code: grpc.StatusCode, details: Union[str, bytes, None]) -> Optional[Facts]:
    if not isinstance(details, bytes):
        return None
    try:
        return _decode(code, details)
    except DecodeError:
        return None


def _decode(code: grpc.StatusCode, details: bytes) -> Optional[Facts]:
    info: Optional[ErrorInfo] = None
    delay: Optional[float] = None
    violations: List[FieldViolation] = []
    for detail in Status.FromString(details).details:
        # Only the last segment names the type. The prefix may differ between senders.
        kind = detail.type_url.rpartition("/")[2]
        if kind == "google.rpc.ErrorInfo":
            info = ErrorInfo.FromString(detail.value)
        elif kind == "google.rpc.RetryInfo":
            delay = seconds_of(RetryInfo.FromString(detail.value).retry_delay)
        elif kind == "google.rpc.BadRequest":
            for one in BadRequest.FromString(detail.value).field_violations:
                violations.append(_violation(one.field, one.description))
    if info is None or info.domain != _DOMAIN:
        return None
    return Facts(info.reason, code, dict(info.metadata), delay, violations)


def _pushback(value: Union[str, bytes, None]) -> Optional[float]:
    text = _text(value)
    return int(text) / 1000 if text.isdecimal() else None


def _text(value: Union[str, bytes, None]) -> str:
    return value if isinstance(value, str) else ""
