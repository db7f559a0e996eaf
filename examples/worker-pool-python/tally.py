"""Counts the permits that were at work at the same time, from the record alone, and checks the count.

    python3 examples/worker-pool-python/tally.py .holdfast/pool-4711.jsonl

A worker writes `begin` after its grant and `end` before its release, so the `begin` of the next holder comes after this
`end`. Workers are at work at the same time if some line of the file lies between `begin` and `end` of all of them. The
clock matters only for a worker that is paused past its deadline. After its deadline this worker counts as idle, and it
must not continue.

The allowed number of permits follows from the fencing tokens, which rise from grant to grant. SetSemaphoreLimit
returns the token of the latest grant together with the limit. So the rule is:

    Jobs at work at the same time have at most as many permits as the limit at the latest grant among these jobs.

This rule allows a lease that was granted before the limit was lowered: its token is at most the token of the answer to
SetSemaphoreLimit. No two clocks are compared. The order in which a worker and the conductor write their lines has no
effect.

Two limits are possible for a token if another program has set the limit, or if a call was repeated after a lost answer.
The higher limit is then allowed. The exit code is 1 if the rule is broken.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Set

from record import RecordReader

MOST_SHOWN = 5


@dataclass(frozen=True)
class Job:
    worker: str
    token: int
    permits: int
    # The deadline of the lease that the worker knew before its last step.
    until: float


@dataclass(frozen=True)
class Setting:
    limit: int
    since: int
    token: int


def setting_of(line: dict) -> Setting:
    return Setting(line["limit"], line["since"], line["token"])


def permits_of(jobs: List[Job]) -> int:
    return sum(job.permits for job in jobs)


class AtWork:
    """The jobs at work, from the lines of the record."""

    def __init__(self) -> None:
        self._jobs: Dict[int, Job] = {}
        self._now = 0.0

    def apply(self, line: dict) -> None:
        # The time must not go back, although a process may be paused between its look at the clock and its write.
        self._now = max(self._now, line["at"])
        if line["what"] in ("begin", "step"):
            until = line["at"] + line["left"]
            self._jobs[line["token"]] = Job(line["worker"], line["token"], line["permits"], until)
        elif line["what"] == "end":
            self._jobs.pop(line["token"], None)
        elif line["what"] == "gone":
            for job in self.of(line["worker"]):
                del self._jobs[job.token]

    def of(self, worker: str) -> List[Job]:
        return [job for job in self._jobs.values() if job.worker == worker]

    def working(self) -> List[Job]:
        return [job for job in self._jobs.values() if job.until > self._now]

    def past_deadline(self) -> List[Job]:
        """Jobs past their deadline without an `end`. Their process is paused, or has not checked its deadline yet."""
        return [job for job in self._jobs.values() if job.until <= self._now]


class Limits:
    """The limit at the grant of each token."""

    def __init__(self, lines: List[dict]):
        self._settings = [setting_of(line) for line in lines if line["what"] == "limit"]

    def at(self, token: int) -> int:
        before = [setting.limit for setting in self._settings if setting.token < token]
        possible = [setting.limit for setting in self._settings if setting.since < token <= setting.token]
        return max(before[-1:] + possible, default=0)


@dataclass
class Summary:
    results: Counter = field(default_factory=Counter)
    # For each limit: the largest number of permits at work, if the latest grant was made under this limit.
    most: Dict[int, int] = field(default_factory=dict)
    # For each limit: the largest number of permits above the limit that were granted before the limit was lowered.
    ran_on: Dict[int, int] = field(default_factory=dict)
    faults: List[str] = field(default_factory=list)

    def lines(self) -> List[str]:
        jobs = ", ".join(f"{count} {result}" for result, count in sorted(self.results.items()) if count)
        shown = [f"  {fault}" for fault in self.faults[:MOST_SHOWN]]
        return [
            f"jobs: {jobs or 'none'}",
            *(self._limit_line(limit) for limit in sorted({*self.most, *self.ran_on})),
            f"OVER THE LIMIT, {len(self.faults)} times:" if self.faults else "never over the limit",
            *shown,
        ]

    def _limit_line(self, limit: int) -> str:
        granted = f"at most {self.most[limit]} at once" if limit in self.most else "nothing granted"
        ran_on = self.ran_on.get(limit)
        return f"limit {limit}: {granted}" + (f"; {ran_on} were granted before it" if ran_on else "")


class Judge:
    def __init__(self, lines: List[dict]):
        self._lines = lines
        self._limits = Limits(lines)
        self._at_work = AtWork()
        self._setting: Optional[Setting] = None
        self._granted: Set[int] = set()
        self._over: Set[frozenset] = set()
        self._summary = Summary()

    def summary(self) -> Summary:
        for line in self._lines:
            self._count(line)
            self._at_work.apply(line)
            if line["what"] == "limit":
                self._setting = setting_of(line)
            working = self._at_work.working()
            self._measure(working)
            self._measure_running_on(working)
        return self._summary

    def _count(self, line: dict) -> None:
        """Checks one line without the other lines."""
        what = line["what"]
        if what == "end":
            self._summary.results[line["result"]] += 1
        elif what == "gone":
            self._summary.results["killed"] += len(self._at_work.of(line["worker"]))
        elif what in ("begin", "step") and line["left"] <= 0:
            self._fault(f"{line['worker']} began a step past the deadline of token {line['token']}")
        if what == "begin" and line["token"] in self._granted:
            self._fault(f"token {line['token']} was granted twice, the second time to {line['worker']}")
        if what == "begin":
            self._granted.add(line["token"])

    def _measure(self, working: List[Job]) -> None:
        if not working:
            return
        limit = self._limits.at(max(job.token for job in working))
        permits = permits_of(working)
        self._summary.most[limit] = max(permits, self._summary.most.get(limit, 0))
        # A set of jobs over the limit is reported once, and not again for each step.
        tokens = frozenset(job.token for job in working)
        if permits > limit and tokens not in self._over:
            self._over.add(tokens)
            holders = " ".join(f"{job.worker} (token {job.token}, {job.permits})" for job in working)
            self._fault(f"{permits} permits at work, the latest granted under limit {limit}: {holders}")

    def _measure_running_on(self, working: List[Job]) -> None:
        if self._setting is None:
            return
        limit = self._setting.limit
        permits = permits_of([job for job in working if job.token <= self._setting.token])
        if permits > limit:
            self._summary.ran_on[limit] = max(permits, self._summary.ran_on.get(limit, 0))

    def _fault(self, text: str) -> None:
        self._summary.faults.append(text)


def judge(path: str) -> Summary:
    return Judge(RecordReader(path).new_lines()).summary()


if __name__ == "__main__":
    verdict = judge(sys.argv[1])
    print("\n".join(verdict.lines()))
    sys.exit(1 if verdict.faults else 0)
