"""An example of work that only one process may do at a time. The worker holds a lock over a stream, works in steps, and
writes each result to a store that checks fencing tokens.

    PYTHONPATH=generated/python:examples/python-common python3 examples/worker-python/worker.py alice

Exit code 0: stopped by Ctrl-C, the lock is released. 1: the lock could not be acquired. 2: wrong arguments. 3: the
lease was lost and the work was stopped.
"""

from __future__ import annotations

import argparse
import os
import queue
import signal
import sys
import threading
import time
from typing import Optional

import grpc
from held_lease import HeldLease, LeaseOver
from hold import Hold, HoldOptions
from holdfast.v1 import lease_pb2
from ledger import Ledger
from lock import Lock
from servers import Servers
from words import cause_text, say, span, span_text

RELEASED, FAILED, LOST = 0, 1, 3
INTERRUPTED = 130
REPORT_EVERY = 2.0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="holds a lock and works in steps")
    parser.add_argument("worker", help="a name for this worker: alice")
    parser.add_argument("--server", default="127.0.0.1:50051", help="HOST:PORT[,...], servers of one store")
    parser.add_argument("--name", default="nightly-report", help="name of the lock")
    parser.add_argument("--ttl", type=span, default=5.0, help="ttl of the lease (5s)")
    parser.add_argument("--step", type=span, default=0.25, help="duration of one step (250ms)")
    parser.add_argument("--ledger", default=".holdfast/ledger", help="folder of the protected store")
    return parser.parse_args()


class Worker:
    def __init__(self, options: argparse.Namespace):
        self._options = options
        self._ledger = Ledger(options.ledger)
        self._stop = threading.Event()
        # Receives the granted lease, or the error, or None for a stop of the worker. A SimpleQueue is safe in a signal
        # handler.
        self._news: queue.SimpleQueue = queue.SimpleQueue()

    def run(self) -> int:
        options = self._options
        pid = os.getpid()
        ttl = span_text(options.ttl)
        lock_text = f'the lock "{options.name}" with a ttl of {ttl}'
        say(f"{options.worker} (pid {pid}) requests {lock_text} from {options.server}")
        say(f"try: kill -9 {pid}, kill -STOP {pid}, kill -CONT {pid}, Ctrl-C")
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)
        servers = Servers(options.server.split(","))
        # The worker connects before the measurement, so that the printed time is the time to acquire the lock.
        servers.connect()
        asked_at = time.monotonic()
        lock = Lock(options.name, options.worker, options.ttl)
        hold = Hold(HoldOptions(servers, lock, say, say_queued, self._news.put, self._news.put))
        try:
            return self._hold_and_work(hold, asked_at)
        finally:
            hold.close()
            servers.close()

    def _on_signal(self, number: int, _frame: object) -> None:
        if self._stop.is_set():
            os._exit(INTERRUPTED)
        os.write(sys.stdout.fileno(), f"{signal.Signals(number).name}: stopping after this step\n".encode())
        self._stop.set()
        self._news.put(None)

    def _hold_and_work(self, hold: Hold, asked_at: float) -> int:
        news = self._news.get()
        if news is None:
            return RELEASED
        if isinstance(news, Exception):
            say(f"{self._options.worker} failed: {news}")
            return FAILED
        lease: HeldLease = news
        say(self._grant_text(asked_at, self._ledger.last(), lease.token))
        try:
            self._work(lease)
        except LeaseOver as reason:
            self._stop_work(reason, lease, hold)
            return LOST
        self._release(hold, lease)
        return RELEASED

    def _work(self, lease: HeldLease) -> None:
        """Works in steps until a signal comes. Raises if the lease ends. A step must be short compared to the ttl."""
        # The first write comes before any work. After this write the ledger refuses the writes of earlier holders.
        self._write(lease, "begins")
        reported_at = time.monotonic()
        step = 0
        while not self._stop.is_set():
            step += 1
            lease.check()
            # The wait takes the place of real work. Real work must also stop as soon as the lease ends.
            lease.wait(self._options.step)
            self._write(lease, f"step {step}")
            if time.monotonic() - reported_at >= REPORT_EVERY:
                reported_at = time.monotonic()
                say(f"step {step} is in the ledger; the lease is valid for {span_text(lease.left())}")

    def _write(self, lease: HeldLease, note: str) -> None:
        # The lease is checked again right before the write, because the step may have taken longer than planned.
        lease.check()
        newer = self._ledger.write(lease.token, self._options.worker, note)
        if newer is not None:
            raise LeaseOver(refusal(lease.token, newer))

    def _stop_work(self, reason: LeaseOver, lease: HeldLease, hold: Hold) -> None:
        """Ends the worker after the end of its lease. The worker does no more work and requests no new lock."""
        say(f"{reason.describe()}, stopping")
        # After a passed deadline the lease may still exist in the store, so the worker releases the lease.
        if reason.deadline_at is not None:
            self._write_late(lease)
            self._release(hold, lease)

    def _write_late(self, lease: HeldLease) -> None:
        """Writes after the lease has ended, to demonstrate fencing. Your own worker must not do this."""
        newer = self._ledger.write(lease.token, self._options.worker, "late")
        if newer is None:
            say(f"ledger took the late write of token {lease.token}: no higher token has written yet")
        else:
            say(refusal(lease.token, newer))

    def _release(self, hold: Hold, lease: HeldLease) -> None:
        try:
            answer = hold.release(lease)
            say("released" if answer.released else f"the lease had already ended: {cause_text(answer.loss_cause)}")
        except grpc.RpcError as error:
            say(f"the release failed, so the lease expires after its ttl: {error.details()}")

    @staticmethod
    def _grant_text(asked_at: float, before: Optional[dict], token: int) -> str:
        """The time in which no worker worked: since the request, or since the last write of the previous holder."""
        # A comparison of wall clocks of several processes is precise enough only for display.
        since_asked = time.monotonic() - asked_at
        since_write = max(0.0, time.time() - before["time"] / 1000) if before else float("inf")
        counted = span_text(since_asked)
        if before and since_write < since_asked:
            counted = f"{span_text(since_write)} (since {before['worker']}'s last write; in the queue for {counted})"
        return f"granted after {counted}; {rise_text(before['token'] if before else None, token)}"


def rise_text(before: Optional[int], token: int) -> str:
    """The increase of the fencing token from one holder to the next, as text."""
    if before is None:
        return f"token {token}, the first in this ledger"
    return f"token {before} → {token} (+{token - before:,})"


def say_queued(queued: lease_pb2.HoldQueued) -> None:
    behind = f", behind {queued.holder.holder_id}" if queued.HasField("holder") else ""
    say(f"queued: place {queued.position} of {queued.waiter_count}{behind}")


def refusal(token: int, newer: int) -> str:
    return f"ledger refused token {token}: token {newer} has written since"


if __name__ == "__main__":
    sys.exit(Worker(read_options()).run())
