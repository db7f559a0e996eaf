"""What the processes of a pool do, in one file that each of them appends to and that knows nothing of Holdfast.

A line is one write(2) to a file opened for appending, so lines of several processes never mix, their order is the
order of the writes, and a process killed at any instruction leaves no lock behind. One JSON object each; `at` is
`time.monotonic()`, which all processes of a machine share:

    begin, step   a worker is about to do a step under `token`, with `permits`, and may for `left` seconds
    end           it has stopped doing so: `result` is done, stopped (the pool ends) or lost (the lease is over)
    gone          the pool has seen that the worker's process is dead
    asks          the conductor is about to ask for `limit`
    limit         it has seen `limit` in force when `token` was the latest grant, and another one at `since`
"""

from __future__ import annotations

import json
import os
import time
from typing import List


class Record:
    def __init__(self, path: str):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def add(self, what: str, **more: object) -> None:
        line = json.dumps({"at": time.monotonic(), "what": what, **more})
        os.write(self._file, f"{line}\n".encode())


class RecordReader:
    """Reads on where it stopped: a file that grows."""

    def __init__(self, path: str):
        self._file = open(path, "rb")
        self._rest = b""

    def new_lines(self) -> List[dict]:
        *whole, self._rest = (self._rest + self._file.read()).split(b"\n")
        return [json.loads(line) for line in whole]
