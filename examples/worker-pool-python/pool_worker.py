"""One worker of the pool: takes its permits, does a job in steps, gives them back, and so on until it is told to stop.
Started by pool.py."""

from __future__ import annotations

import queue
import random
import sys
from typing import Optional

import grpc
from held_lease import HeldLease, LeaseOver
from hold import Hold, Refused, Wish
from part import Part
from permits import Permits
from record import Record
from servers import Servers
from words import cause_text

STEPS = (2, 10)
# After these the next try may fare better, when the limit is raised or the semaphore is there again.
PASSING = ("NEVER_FITS", "NO_SUCH_SEMAPHORE")
PASSING_PAUSE = 0.5


class PoolWorker:
    def __init__(self) -> None:
        # What the job waits for: the lease, why there is none, or None when it is to stop.
        self._news: queue.SimpleQueue = queue.SimpleQueue()
        self._part = Part(on_stop=lambda: self._news.put(None))
        self._options = self._part.options
        self._record = Record(self._options.record)
        self._servers = Servers(self._options.server.split(","))
        self._refused_for: Optional[str] = None

    def run(self) -> int:
        options = self._options
        self._servers.connect()
        permits = Permits(options.name, options.worker, options.ttl, options.permits, options.limit)
        try:
            while not self._part.stop.is_set():
                self._job(permits)
            return 0
        except Refused as refused:
            self._say(f"failed: {refused}")
            return 1
        finally:
            self._servers.close()

    def _job(self, permits: Permits) -> None:
        awaited = self._news = queue.SimpleQueue()
        # The word may have come while that was still the queue of the job before.
        if self._part.stop.is_set():
            return
        # A hold of its own for each job: one request_id for one intent.
        hold = Hold(Wish(self._servers, permits, self._say, lambda _: None, awaited.put, awaited.put))
        try:
            news = awaited.get()
            if isinstance(news, HeldLease):
                self._refused_for = None
                self._work_and_give_back(hold, news)
            elif news is not None:
                self._wait_out(news)
        finally:
            hold.close()
            self._give_back_unused(hold)

    def _wait_out(self, error: Exception) -> None:
        """Where it is not for ever: what does not fit now may fit under the next limit."""
        fault = error.fault if isinstance(error, Refused) else None
        if fault is None or fault.reason not in PASSING:
            raise error
        if self._refused_for != str(fault):
            self._refused_for = str(fault)
            asked, limit = fault.metadata.get("permit_count"), fault.metadata.get("limit")
            figures = f": {asked} asked for, limit {limit}" if limit else ""
            self._say(f"{fault.reason}{figures}; asking again every {PASSING_PAUSE} s")
        self._part.stop.wait(PASSING_PAUSE)

    def _work_and_give_back(self, hold: Hold, lease: HeldLease) -> None:
        try:
            result = self._work(lease)
        except LeaseOver as over:
            self._note("end", lease, result="lost")
            self._say(f"{over.describe()}: job stopped")
            # Where only its own clock has spoken the server may keep the lease for it yet.
            if over.deadline_at is not None:
                self._give_back(hold, lease)
        else:
            # Before the release, so that the line of the next one comes after it.
            self._note("end", lease, result=result)
            self._give_back(hold, lease)

    def _work(self, lease: HeldLease) -> str:
        """Raises when the lease is over, at once and in the middle of a step too."""
        for step in range(random.randint(*STEPS)):
            lease.check()
            self._note("step" if step else "begin", lease)
            # This is where the work would be; like this wait it should end at once when the lease is over.
            lease.wait(self._options.step)
            if self._part.stop.is_set():
                return "stopped"
        return "done"

    def _give_back(self, hold: Hold, lease: HeldLease) -> None:
        try:
            answer = hold.release(lease)
            if not answer.released:
                self._say(f"the lease had ended already: {cause_text(answer.loss_cause)}")
        except grpc.RpcError as error:
            self._say(f"not released, so it ends by itself: {error.details()}")

    def _give_back_unused(self, hold: Hold) -> None:
        """A grant that came just when the word to stop was read first."""
        while not self._news.empty():
            news = self._news.get()
            if isinstance(news, HeldLease):
                self._give_back(hold, news)

    def _note(self, what: str, lease: HeldLease, **more: str) -> None:
        self._record.add(
            what,
            worker=self._options.worker,
            token=lease.token,
            permits=self._options.permits,
            left=lease.left(),
            **more,
        )

    def _say(self, text: str) -> None:
        self._part.say(f"{self._options.worker}: {text}")


if __name__ == "__main__":
    sys.exit(PoolWorker().run())
