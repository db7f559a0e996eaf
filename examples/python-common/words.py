"""Prints and reads values as text."""

from __future__ import annotations

import argparse
import re

from holdfast.v1 import lease_pb2


def say(text: str) -> None:
    print(text, flush=True)


def span(text: str) -> float:
    """Converts a duration such as `5s` or `250ms` to seconds. A type for argparse."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)", text)
    if match is None or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text}: expected a duration such as 5s or 250ms")
    return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60}[match[2]]


def span_text(seconds: float) -> str:
    """A duration as text: `0.8 ms`, `23 ms`, `4.8 s`."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    ms = seconds * 1000
    return f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms"


def cause_text(cause: int) -> str:
    """The name of a cause without the prefix of the enum: `EXPIRED`, `STORE_RESET`."""
    known = cause in lease_pb2.LossCause.values()
    return lease_pb2.LossCause.Name(cause).replace("LOSS_CAUSE_", "") if known else str(cause)
