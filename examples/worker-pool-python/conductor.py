"""Changes the limit while the workers run, says what the semaphore looks like, and records what limit it has seen in
force and when. Started by pool.py; ends when its schedule is done, or when it is told to."""

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
LOOK_EVERY = 1.0
PAUSE = 0.3


class Conductor:
    def __init__(self) -> None:
        self._part = Part()
        self._options = self._part.options
        self._record = Record(self._options.record)
        self._servers = Servers(self._options.server.split(","))
        # What was seen last: the limit in force, and the token of the latest grant by then.
        self._limit: Optional[int] = None
        self._token = 0
        # The limit that it has set itself, and so expects.
        self._own: Optional[int] = None
        self._trouble = ""

    def run(self) -> int:
        self._servers.connect()
        try:
            for limit in self._options.limits:
                self._set(limit)
                self._watch(self._options.every)
            while not self._options.ends and not self._part.stop.is_set():
                self._watch(LOOK_EVERY)
            return 0
        finally:
            self._servers.close()

    def _set(self, limit: int) -> None:
        """Until it is done: a limit that could not be set is no reason to go on to the next one."""
        while not self._part.stop.is_set():
            try:
                # Seen once more right before, so that few grants lie between the two, of which it is not known under
                # which limit they were made.
                self._look()
                self._change(limit)
                self._trouble = ""
                return
            except grpc.RpcError as error:
                self._decide_again(error)
                self._part.stop.wait(PAUSE)

    def _change(self, limit: int) -> None:
        # What it has set itself is what it expects, and not what it has just seen: so it is told when somebody else
        # changes the limit too.
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
        self._note(semaphore)
        self._part.say(f"conductor: limit {before} → {limit}; {picture(semaphore)}")

    def _decide_again(self, error: grpc.RpcError) -> None:
        fault = holdfast_error(error)
        reason = fault.reason if fault is not None else None
        if reason == "LIMIT_MISMATCH":
            figures = f"limit {fault.metadata.get('limit', self._limit)}, not {self._own}"
            self._part.say(f"conductor: LIMIT_MISMATCH, {figures}: somebody else has set it, going on from there")
            self._own = None
        elif reason == "NO_SUCH_SEMAPHORE":
            # Not yet there, or deleted: the next worker's initial_limit brings it into being.
            self._own = None
        elif error.details() != self._trouble:
            # Once for each kind of trouble, not for each try.
            self._trouble = error.details()
            self._part.say(f"conductor: limit not set, trying on: {self._trouble}")

    def _watch(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._part.stop.is_set():
            self._part.stop.wait(min(LOOK_EVERY, until - time.monotonic()))
            if time.monotonic() < until:
                self._look_and_say()

    def _look_and_say(self) -> None:
        try:
            self._part.say(f"conductor: {picture(self._look())}")
        except grpc.RpcError as error:
            self._part.say(f"conductor: not seen: {error.details()}")

    def _look(self) -> semaphore_pb2.Semaphore:
        request = semaphore_pb2.GetSemaphoreRequest(name=self._options.name)
        semaphore = call_anywhere(
            self._servers,
            lambda channel: SemaphoreServiceStub(channel).GetSemaphore(request, timeout=CALL_TIMEOUT),
        ).semaphore
        self._note(semaphore)
        return semaphore

    def _note(self, semaphore: semaphore_pb2.Semaphore) -> None:
        # 0 where none is remembered; that later grants have greater ones holds all the same.
        token = max(semaphore.last_fencing_token, self._token)
        if semaphore.limit != self._limit:
            self._record.add("limit", limit=semaphore.limit, since=self._token, token=token)
        self._limit, self._token = semaphore.limit, token


def picture(semaphore: semaphore_pb2.Semaphore) -> str:
    holders = " ".join(f"{holder.holder_id}×{holder.permit_count}" for holder in semaphore.holders)
    return (
        f"limit {semaphore.limit}, used {semaphore.used_count}, overcommitted {semaphore.overcommitted_count}, "
        f"waiters {semaphore.waiter_count}; held by {holders or 'nobody'}"
    )


if __name__ == "__main__":
    sys.exit(Conductor().run())
