"""A pool of processes that never uses more permits than the limit, while the limit changes.

    PYTHONPATH=generated/python:examples/python-common \\
        python3 examples/worker-pool-python/pool.py --workers 8 --limit 3 --schedule 3,1,5,0,4

Each process writes a line to a file when a job begins and ends. The pool counts the permits at work from this file,
prints each change, and checks the whole file at the end: see tally.py. Without a schedule the pool runs until Ctrl-C.

Exit code 0: never over the limit. 1: over the limit, or a process has failed. 2: wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import List, Optional

from options import read_options
from part import say_since, start_part
from record import Record, RecordReader
from tally import AtWork, Job, Setting, judge, permits_of, setting_of
from words import span_text

INTERRUPTED = 130
POLL = 0.05
# The time in which the processes must end: a step, a release, and a server that does not answer.
END_TIMEOUT = 15.0


@dataclass
class Seat:
    """The place of one worker. If the process of the worker is killed, a new process takes the place."""

    name: str
    permits: int
    process: subprocess.Popen
    processes: int = 1

    @property
    def worker(self) -> str:
        return self.name if self.processes == 1 else f"{self.name}.{self.processes}"


class Pool:
    def __init__(self, options: argparse.Namespace):
        self._options = options
        self._started = time.monotonic()
        self._stop = False
        self._failed = False
        os.makedirs(os.path.dirname(options.record) or ".", exist_ok=True)
        with open(options.record, "w"):
            pass
        self._record = Record(options.record)
        self._reader = RecordReader(options.record)
        self._at_work = AtWork()
        self._setting: Optional[Setting] = None
        self._asked: Optional[int] = None
        self._shown = ""

    def run(self) -> int:
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)
        seats = [self._seat(index) for index in range(self._options.workers)]
        conductor = self._start_conductor()
        while not self._stop and not self._failed and conductor.poll() is None:
            self._show_changes()
            self._look_after(seats)
            time.sleep(POLL)
        if conductor.poll() not in (None, 0):
            self._fail(f"the conductor has ended with {conductor.returncode}")
        self._end([conductor, *(seat.process for seat in seats)])
        return self._sum_up(sum(seat.processes - 1 for seat in seats))

    def _on_signal(self, number: int, _frame: object) -> None:
        if self._stop:
            # The other processes still finish their steps, because their input ends with this process.
            os._exit(INTERRUPTED)
        os.write(sys.stdout.fileno(), f"{signal.Signals(number).name}: stopping after these steps\n".encode())
        self._stop = True

    def _seat(self, index: int) -> Seat:
        name = f"w{index + 1}"
        permits = self._options.weights[index % len(self._options.weights)]
        seat = Seat(name, permits, self._start_worker(name, permits))
        self._say(f"{name}: pid {seat.process.pid}, {permits_text(permits)} a job")
        return seat

    def _start_worker(self, worker: str, permits: int) -> subprocess.Popen:
        return start_part("pool_worker.py", {**self._common(), "worker": worker, "permits": permits})

    def _start_conductor(self) -> subprocess.Popen:
        limits = [self._options.limit, *self._options.schedule]
        if limits[1:2] == limits[:1]:
            limits = limits[1:]
        ends = len(self._options.schedule) > 0
        return start_part(
            "conductor.py", {**self._common(), "limits": limits, "every": self._options.every, "ends": ends}
        )

    def _common(self) -> dict:
        options = self._options
        shared = {key: getattr(options, key) for key in ("limit", "server", "name", "ttl", "step", "record")}
        return {**shared, "started": self._started}

    def _show_changes(self) -> None:
        for line in self._reader.new_lines():
            self._at_work.apply(line)
            if line["what"] == "asks":
                self._asked = line["limit"]
            elif line["what"] == "limit":
                self._setting = setting_of(line)
                self._asked = None if self._asked == line["limit"] else self._asked
            text = self._text()
            if text != self._shown:
                self._shown = text
                self._say(text)

    def _text(self) -> str:
        working = self._at_work.working()
        limit = self._setting.limit if self._setting is not None else "not seen yet"
        asked = f" ({self._asked} asked for)" if self._asked not in (None, limit) else ""
        stopped = "".join(f"; {job.worker} is stopped past its deadline" for job in self._at_work.past_deadline())
        return f"at work {permits_of(working)}, limit {limit}{asked}: {names(working)}{self._before(working)}{stopped}"

    def _before(self, working: List[Job]) -> str:
        """The permits that were granted before the limit was lowered, if they exceed the limit."""
        if self._setting is None:
            return ""
        before = permits_of([job for job in working if job.token <= self._setting.token])
        return f" ({before} granted before it was lowered)" if before > self._setting.limit else ""

    def _look_after(self, seats: List[Seat]) -> None:
        for seat in seats:
            code = seat.process.poll()
            if code is None:
                continue
            if code >= 0:
                self._fail(f"{seat.worker} has ended with {code}")
                return
            self._replace(seat, signal.Signals(-code).name)

    def _replace(self, seat: Seat, killed_by: str) -> None:
        dead = seat.worker
        # The process has ended, so the file contains all its lines.
        self._show_changes()
        jobs = self._at_work.of(dead)
        self._record.add("gone", worker=dead)
        state = "not at work"
        if jobs:
            state = f"at work: {permits_text(permits_of(jobs))} will be free within {span_text(self._options.ttl)}"
        seat.processes += 1
        seat.process = self._start_worker(seat.worker, seat.permits)
        self._say(f"{dead}: killed by {killed_by}, {state}; replaced by {seat.worker}, pid {seat.process.pid}")

    def _fail(self, text: str) -> None:
        self._failed = True
        self._say(f"{text}: ending the pool")

    def _end(self, processes: List[subprocess.Popen]) -> None:
        """Stops the processes. Each process first ends its step and releases its permits."""
        for process in processes:
            process.stdin.close()
        give_up_at = time.monotonic() + END_TIMEOUT
        for process in processes:
            try:
                process.wait(max(0.0, give_up_at - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._fail(f"pid {process.pid} does not end")
                process.kill()
                process.wait()
        self._show_changes()

    def _sum_up(self, replaced: int) -> int:
        summary = judge(self._options.record)
        print("\n".join([f"workers replaced: {replaced}", *summary.lines()]), flush=True)
        return 1 if summary.faults or self._failed else 0

    def _say(self, text: str) -> None:
        say_since(self._started, text)


def names(jobs: List[Job]) -> str:
    return " ".join(f"{job.worker}×{job.permits}" for job in jobs) or "nobody"


def permits_text(count: int) -> str:
    return "1 permit" if count == 1 else f"{count} permits"


if __name__ == "__main__":
    sys.exit(Pool(read_options()).run())
