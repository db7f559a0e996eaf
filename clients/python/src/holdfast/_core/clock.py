"""The clock of all deadlines."""

import sys
import time


def _linux() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _darwin() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


# A clock that also counts the time in which the machine was suspended. `time.monotonic` does not
# count that time on Linux and macOS, so a lease would seem valid after a suspend.
if sys.platform == "linux" and hasattr(time, "CLOCK_BOOTTIME"):
    now = _linux
elif sys.platform == "darwin":
    now = _darwin
else:
    now = time.monotonic
