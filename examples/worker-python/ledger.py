"""A protected store in miniature: it refuses every write with a lower fencing token than one that has written.

No clock and no lease can do this for it: a worker that is stopped between its last look at the clock and its write
comes too late, and only the store, at the moment of the write, can see that.

Look and write must therefore be one atomic step, with several processes at it and each of them killed or stopped at
any line. Here rename(2) is that step:

    ledger/1763636400123456/entries.json      the folder's name is the highest token that has written

 - A higher token takes over by renaming the folder to itself. Of two, one finds the old name gone, and looks again.
 - A write renames a finished file *into* the folder of its own token. If that name is gone the write fails, even
   when it was begun before the take-over: there is no window between looking and writing.

The same folder serves the workers of other languages: this is ../worker-typescript/ledger.ts once more.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from typing import Callable, List, Optional

FILE = "entries.json"
# How many entries are kept; it is an example's ledger.
KEPT = 20
MOST_LOOKS = 100


class Ledger:
    def __init__(self, folder: str):
        self._folder = folder

    def last(self) -> Optional[dict]:
        """The newest accepted entry: token, worker, note, time (ms since 1970). None while there is none."""
        while True:
            highest = self._highest()
            entries = self._entries(highest)
            if entries:
                return entries[-1]
            # Nothing there, or renamed between the two looks?
            if self._highest() == highest:
                return None

    def write(self, token: int, worker: str, note: str) -> Optional[int]:
        """Adds an entry. Answers None, or the higher token that has written already: then nothing was added."""
        entry = {"token": token, "worker": worker, "note": note, "time": round(time.time() * 1000)}
        while True:
            highest = self._highest()
            if token < highest:
                return highest
            if token > highest:
                self._take_over(highest, token)
            elif self._append(token, entry):
                return None

    def _highest(self) -> int:
        """Read anew each time: what was seen a moment ago proves nothing."""
        # A folder that is renamed just now may be missing from the listing, so one look is not enough.
        for _ in range(MOST_LOOKS):
            tokens = [int(name) for name in self._names() if name.isdecimal()]
            if tokens:
                return max(tokens)
            self._create()
        raise RuntimeError(f"{self._folder} holds something else than a ledger")

    def _names(self) -> List[str]:
        try:
            return os.listdir(self._folder)
        except FileNotFoundError:
            return []

    def _create(self) -> None:
        """Puts a ledger there whose highest token is 0, in one step and only once: no folder can be renamed onto one
        that is not empty, and a ledger never is."""
        made = f"{self._folder}.new-{os.getpid()}"
        os.makedirs(os.path.join(made, "0"), exist_ok=True)
        if not _succeeds(lambda: os.rename(made, self._folder), errno.ENOTEMPTY, errno.EEXIST):
            shutil.rmtree(made, ignore_errors=True)

    def _take_over(self, before: int, token: int) -> None:
        _succeeds(lambda: os.rename(self._path(before), self._path(token)), errno.ENOENT)

    def _append(self, token: int, entry: dict) -> bool:
        entries = (self._entries(token) + [entry])[-KEPT:]
        finished = self._path(f".{FILE}-{os.getpid()}")
        with open(finished, "w", encoding="utf-8") as file:
            file.write(json.dumps(entries, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if _succeeds(lambda: os.rename(finished, self._path(token, FILE)), errno.ENOENT, errno.ENOTDIR):
            return True
        os.unlink(finished)
        return False

    def _entries(self, token: int) -> List[dict]:
        try:
            with open(self._path(token, FILE), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return []

    def _path(self, *parts: object) -> str:
        return os.path.join(self._folder, *map(str, parts))


def _succeeds(step: Callable[[], None], *expected: int) -> bool:
    try:
        step()
        return True
    except OSError as error:
        if error.errno in expected:
            return False
        raise
