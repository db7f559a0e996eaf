"""Errors of the package as the kit wants them."""

import asyncio
from typing import Any, Dict

from holdfast import errors

CLASSES = {
    errors.ContendedError: "contended",
    errors.InvalidRequestError: "invalid_request",
    errors.CredentialError: "credential",
    errors.NotAllowedError: "not_allowed",
    errors.LimitReachedError: "limit_reached",
    errors.NoSuchSemaphoreError: "no_such_semaphore",
    errors.LimitMismatchError: "limit_mismatch",
    errors.NeverFitsError: "never_fits",
    errors.NoSuchDictionaryError: "no_such_dictionary",
    errors.DictionaryExistsError: "dictionary_exists",
    errors.ImportConflictError: "import_conflict",
    errors.UnavailableError: "unavailable",
    errors.ClosedError: "closed",
}


class Unsupported(Exception):
    """A command that this driver does not have."""


def failure_of(error: Exception) -> Dict[str, Any]:
    if isinstance(error, errors.LeaseLost):
        inner = error.__cause__
        is_own = inner is None or isinstance(inner, asyncio.CancelledError)
        return {
            "class": "lease_lost",
            "reason": error.reason,
            "code": error.code.value[0],
            "cause": str(error.loss_cause),
            "inner": "" if is_own else str(inner),
            "text": str(error),
        }
    if isinstance(error, errors.HoldfastError):
        limits: Dict[str, Any] = {}
        if isinstance(error, errors.LimitMismatchError):
            limits = {"limit": error.limit, "expected_limit": error.expected_limit}
        return {
            **limits,
            "class": CLASSES.get(type(error), "other"),
            "reason": error.reason,
            "code": error.code.value[0],
            "text": str(error),
        }
    if isinstance(error, ValueError):
        # The package itself has refused an argument.
        return {
            "class": "invalid_request",
            "reason": "INVALID_FIELD",
            "code": 3,
            "text": f"{error}",
        }
    return {"class": "other", "reason": "", "code": 2, "inner": f"{error}", "text": f"{error}"}
