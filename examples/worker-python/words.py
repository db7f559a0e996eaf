"""How things are said to people."""

from __future__ import annotations

from typing import Optional

from holdfast.v1 import lease_pb2


def span_text(seconds: float) -> str:
    """`0.8 ms`, `23 ms`, `4.8 s`."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    ms = seconds * 1000
    return f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms"


def rise_text(before: Optional[int], token: int) -> str:
    """How the fencing token rose from one holder to the next."""
    if before is None:
        return f"token {token}, the first in this ledger"
    return f"token {before} → {token} (+{token - before:,})"


def cause_text(cause: int) -> str:
    """`EXPIRED`, `STORE_RESET` and so on: the word without the prefix of the enum."""
    known = cause in lease_pb2.LossCause.values()
    return lease_pb2.LossCause.Name(cause).replace("LOSS_CAUSE_", "") if known else str(cause)
