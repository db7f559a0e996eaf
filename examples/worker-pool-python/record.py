"""The record of a pool: one file to which all processes of the pool append. The record does not depend on Holdfast.

Each line is one JSON object and one write(2) to a file opened for appending. So lines of several processes never mix,
and their order is the order of the writes. `at` is `time.monotonic()`, the same clock for all processes of a machine:

    begin, step   a worker starts a step with `permits` under `token`; its lease is valid for `left` seconds
    end           the worker has stopped; `result` is done, stopped (the pool ends) or lost (the lease has ended)
    gone          the pool has noticed that the worker's process has ended
    asks          the conductor will now set `limit`
    limit         the conductor has read `limit` when `token` was the latest grant; when `since` was the latest grant,
                  the conductor has read another limit
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
    """Reads the new lines of a growing file."""

    def __init__(self, path: str):
        self._file = open(path, "rb")
        self._rest = b""

    def new_lines(self) -> List[dict]:
        *whole, self._rest = (self._rest + self._file.read()).split(b"\n")
        return [json.loads(line) for line in whole]
