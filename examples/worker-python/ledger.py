"""A small protected store. The ledger stores the highest fencing token that has written, and refuses lower tokens.

Only the store can make this check, because a worker may be paused between its last look at the clock and its write.

The check and the write must be one atomic step, although several processes write and each process may be killed or
stopped at any line. Here rename(2) is this step:

    ledger/1763636400123456/entries.json      the name of the folder is the highest token that has written

 - A worker with a higher token renames the folder to its own token. If two workers do so at the same time, one worker
   does not find the old name and reads the folder again.
 - A write renames a finished file *into* the folder of its own token. If this folder no longer exists, the write fails,
   even if the write started before the rename of the folder.

The file format is that of ../worker-typescript/ledger.ts, so workers of both languages can share one folder.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from typing import Callable, List, Optional

FILE = "entries.json"
# Only the newest entries are kept, because the ledger is an example.
MAX_ENTRIES = 20
MAX_READS = 100


class Ledger:
    def __init__(self, folder: str):
        self._folder = folder

    def last(self) -> Optional[dict]:
        """The newest accepted entry: token, worker, note, time (ms since 1970). None: the ledger is empty."""
        while True:
            highest = self._highest()
            entries = self._entries(highest)
            if entries:
                return entries[-1]
            # No entry: either the ledger is empty, or the folder was renamed between the two reads.
            if self._highest() == highest:
                return None

    def write(self, token: int, worker: str, note: str) -> Optional[int]:
        """Adds an entry and returns None. If a higher token has written, adds nothing and returns the higher token."""
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
        """The highest token that has written. Reads the folder, because another process may have changed the folder."""
        # A directory listing may miss a folder that is being renamed, so the listing is repeated.
        for _ in range(MAX_READS):
            tokens = [int(name) for name in self._names() if name.isdecimal()]
            if tokens:
                return max(tokens)
            self._create()
        raise RuntimeError(f"{self._folder} is not a ledger: choose an empty folder")

    def _names(self) -> List[str]:
        try:
            return os.listdir(self._folder)
        except FileNotFoundError:
            return []

    def _create(self) -> None:
        """Creates a ledger with the highest token 0 in one step. An existing ledger stays, because a folder cannot be
        renamed to a folder that is not empty, and a ledger is never empty."""
        made = f"{self._folder}.new-{os.getpid()}"
        os.makedirs(os.path.join(made, "0"), exist_ok=True)
        if not _succeeds(lambda: os.rename(made, self._folder), errno.ENOTEMPTY, errno.EEXIST):
            shutil.rmtree(made, ignore_errors=True)

    def _take_over(self, before: int, token: int) -> None:
        _succeeds(lambda: os.rename(self._path(before), self._path(token)), errno.ENOENT)

    def _append(self, token: int, entry: dict) -> bool:
        entries = (self._entries(token) + [entry])[-MAX_ENTRIES:]
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
