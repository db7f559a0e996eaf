"""Changes the limit while the workers run, prints the state of the semaphore, and records each change of the limit.
pool.py starts this process. The process ends after its schedule, or at the stop of pool.py."""

from __future__ import annotations

import sys
import time
from typing import Optional

import grpc
from holdfast.v1 import semaphore_service_pb2 as semaphore_pb2
from holdfast.v1.semaphore_service_pb2_grpc import SemaphoreServiceStub
from holdfast_error import holdfast_error
from part import Part
from record import Record
from retry import call_anywhere
from servers import Servers

CALL_TIMEOUT = 2.0
CHECK_EVERY = 1.0
PAUSE = 0.3


class Conductor:
    def __init__(self) -> None:
        self._part = Part()
        self._options = self._part.options
        self._record = Record(self._options.record)
        self._servers = Servers(self._options.server.split(","))
        # The limit in force and the token of the latest grant, from the last answer of the server.
        self._limit: Optional[int] = None
        self._token = 0
        # The limit that this process has set. None: no limit yet, or another program has changed the limit.
        self._own: Optional[int] = None
        self._last_error = ""

    def run(self) -> int:
        self._servers.connect()
        try:
            for limit in self._options.limits:
                self._set(limit)
                self._watch(self._options.every)
            while not self._options.ends and not self._part.stop.is_set():
                self._watch(CHECK_EVERY)
            return 0
        finally:
            self._servers.close()

    def _set(self, limit: int) -> None:
        """Sets the limit. Retries until the call succeeds, so that no step of the schedule is left out."""
        while not self._part.stop.is_set():
            try:
                # The state is read right before the change, so that few grants come in between. For such a grant the
                # tally does not know whether the old or the new limit was in force.
                self._get()
                self._change(limit)
                self._last_error = ""
                return
            except grpc.RpcError as error:
                self._decide_again(error)
                self._part.stop.wait(PAUSE)

    def _change(self, limit: int) -> None:
        # `expected_limit` is the limit that this process has set before, not the limit that it has just read. So the
        # server answers LIMIT_MISMATCH if another program has changed the limit.
        request = semaphore_pb2.SetSemaphoreLimitRequest(
            name=self._options.name, limit=limit, expected_limit=self._limit if self._own is None else self._own
        )
        before = self._limit
        self._record.add("asks", limit=limit)
        semaphore = call_anywhere(
            self._servers,
            lambda channel: SemaphoreServiceStub(channel).SetSemaphoreLimit(request, timeout=CALL_TIMEOUT),
        ).semaphore
        self._own = limit
        self._record_limit(semaphore)
        self._part.say(f"conductor: limit {before} → {limit}; {state_text(semaphore)}")

    def _decide_again(self, error: grpc.RpcError) -> None:
        fault = holdfast_error(error)
        reason = fault.reason if fault is not None else None
        if reason == "LIMIT_MISMATCH":
            figures = f"limit {fault.metadata.get('limit', self._limit)}, not {self._own}"
            self._part.say(f"conductor: LIMIT_MISMATCH, {figures}: another program has set it; continuing from there")
            self._own = None
        elif reason == "NO_SUCH_SEMAPHORE":
            # The initial_limit of the next worker creates the semaphore.
            self._own = None
        elif error.details() != self._last_error:
            # An error is printed once, and not again for each attempt.
            self._last_error = error.details()
            self._part.say(f"conductor: the limit is not set, retrying: {self._last_error}")

    def _watch(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._part.stop.is_set():
            self._part.stop.wait(min(CHECK_EVERY, until - time.monotonic()))
            if time.monotonic() < until:
                self._print_state()

    def _print_state(self) -> None:
        try:
            self._part.say(f"conductor: {state_text(self._get())}")
        except grpc.RpcError as error:
            self._part.say(f"conductor: the state cannot be read: {error.details()}")

    def _get(self) -> semaphore_pb2.Semaphore:
        request = semaphore_pb2.GetSemaphoreRequest(name=self._options.name)
        semaphore = call_anywhere(
            self._servers,
            lambda channel: SemaphoreServiceStub(channel).GetSemaphore(request, timeout=CALL_TIMEOUT),
        ).semaphore
        self._record_limit(semaphore)
        return semaphore

    def _record_limit(self, semaphore: semaphore_pb2.Semaphore) -> None:
        # The token is 0 if the server remembers no grant. The last known token is then still a lower bound.
        token = max(semaphore.last_fencing_token, self._token)
        if semaphore.limit != self._limit:
            self._record.add("limit", limit=semaphore.limit, since=self._token, token=token)
        self._limit, self._token = semaphore.limit, token


def state_text(semaphore: semaphore_pb2.Semaphore) -> str:
    holders = " ".join(f"{holder.holder_id}×{holder.permit_count}" for holder in semaphore.holders)
    return (
        f"limit {semaphore.limit}, used {semaphore.used_count}, overcommitted {semaphore.overcommitted_count}, "
        f"waiters {semaphore.waiter_count}; held by {holders or 'nobody'}"
    )


if __name__ == "__main__":
    sys.exit(Conductor().run())
