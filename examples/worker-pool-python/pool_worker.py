"""One worker of the pool. The worker acquires its permits, does a job in steps, releases the permits, and starts again,
until the pool stops. pool.py starts this process."""

from __future__ import annotations

import queue
import random
import sys
from typing import Optional

import grpc
from held_lease import HeldLease, LeaseOver
from hold import Hold, HoldOptions, Refused
from part import Part
from permits import Permits
from record import Record
from servers import Servers
from words import cause_text

STEPS = (2, 10)
# After these reasons a later request may succeed, because the limit may be raised, or the semaphore created again.
TEMPORARY = ("NEVER_FITS", "NO_SUCH_SEMAPHORE")
TEMPORARY_PAUSE = 0.5


class PoolWorker:
    def __init__(self) -> None:
        # Receives the granted lease, or the error, or None for a stop of the worker.
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
        # The stop may have come while `_news` was the queue of the previous job.
        if self._part.stop.is_set():
            return
        # Each job needs a new hold, because each acquire needs its own request_id.
        hold = Hold(HoldOptions(self._servers, permits, self._say, lambda _: None, awaited.put, awaited.put))
        try:
            news = awaited.get()
            if isinstance(news, HeldLease):
                self._refused_for = None
                self._work_and_release(hold, news)
            elif news is not None:
                self._pause_after(news)
        finally:
            hold.close()
            self._release_unused(hold)

    def _pause_after(self, error: Exception) -> None:
        """Pauses if the reason is temporary, because the permits may fit under the next limit. Raises otherwise."""
        fault = error.fault if isinstance(error, Refused) else None
        if fault is None or fault.reason not in TEMPORARY:
            raise error
        if self._refused_for != str(fault):
            self._refused_for = str(fault)
            asked, limit = fault.metadata.get("permit_count"), fault.metadata.get("limit")
            figures = f": {asked} asked for, limit {limit}" if limit else ""
            self._say(f"{fault.reason}{figures}; retrying every {TEMPORARY_PAUSE} s")
        self._part.stop.wait(TEMPORARY_PAUSE)

    def _work_and_release(self, hold: Hold, lease: HeldLease) -> None:
        try:
            result = self._work(lease)
        except LeaseOver as over:
            self._note("end", lease, result="lost")
            self._say(f"{over.describe()}: job stopped")
            # After a passed deadline the lease may still exist in the store, so the worker releases the lease.
            if over.deadline_at is not None:
                self._release(hold, lease)
        else:
            # The line is written before the release, so that the line of the next holder comes after this line.
            self._note("end", lease, result=result)
            self._release(hold, lease)

    def _work(self, lease: HeldLease) -> str:
        """Works in steps. Raises as soon as the lease ends, even during a step."""
        for step in range(random.randint(*STEPS)):
            lease.check()
            self._note("step" if step else "begin", lease)
            # The wait takes the place of real work. Real work must also stop as soon as the lease ends.
            lease.wait(self._options.step)
            if self._part.stop.is_set():
                return "stopped"
        return "done"

    def _release(self, hold: Hold, lease: HeldLease) -> None:
        try:
            answer = hold.release(lease)
            if not answer.released:
                self._say(f"the lease had already ended: {cause_text(answer.loss_cause)}")
        except grpc.RpcError as error:
            self._say(f"the release failed, so the lease expires after its ttl: {error.details()}")

    def _release_unused(self, hold: Hold) -> None:
        """Releases a lease that was granted while the worker stopped."""
        while not self._news.empty():
            news = self._news.get()
            if isinstance(news, HeldLease):
                self._release(hold, news)

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
