"""Shared code of the pool's processes. The pool passes options and a pipe as input to each process. A process stops
when its pipe is closed, even if the pool was killed. Ctrl-C does not reach a process, because each has its own
session."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Callable, Optional

import words


class Part:
    """The current process as a part of the pool."""

    def __init__(self, on_stop: Optional[Callable[[], None]] = None):
        self.options = argparse.Namespace(**json.loads(sys.argv[1]))
        self.stop = threading.Event()
        self._on_stop = on_stop
        threading.Thread(target=self._await_stop, name="stop", daemon=True).start()

    def say(self, text: str) -> None:
        say_since(self.options.started, text)

    def _await_stop(self) -> None:
        sys.stdin.read()
        self.stop.set()
        if self._on_stop is not None:
            self._on_stop()


def start_part(program: str, options: dict) -> subprocess.Popen:
    command = [sys.executable, str(Path(__file__).with_name(program)), json.dumps(options)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def say_since(started: float, text: str) -> None:
    words.say(f"{time.monotonic() - started:6.2f} s  {text}")
