"""One lock, asked for once and held over a stream that the server keeps renewed.

When the stream breaks and the lease does not, it goes on at the next server: before the grant with the same
`request_id`, which keeps the place in the queue, and after it with the `lease_id`, which attaches to the same lease
and never grants. Work goes on meanwhile: the deadline decides about that, not the connection.
"""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass
from typing import Callable, Optional, Tuple

import grpc
from google.protobuf.duration_pb2 import Duration
from held_lease import HeldLease, LeaseOver
from holdfast.v1 import lease_pb2, lock_service_pb2 as lock_pb2
from holdfast_error import holdfast_error
from retry import pause_after
from servers import Servers
from words import cause_text, span_text

RELEASE_TIMEOUT = 2.0
# The server renews every third of the ttl, at least every 10 s, and says so each time.
LONGEST_RENEWAL = 10.0


@dataclass
class Wish:
    servers: Servers
    name: str
    holder_id: str
    ttl: float
    say: Callable[[str], None]
    # Called by the reading thread, once: with the held lease, or with why it cannot be had.
    on_granted: Callable[[HeldLease], None]
    on_failed: Callable[[Exception], None]


class LockHold:
    def __init__(self, wish: Wish):
        self._wish = wish
        self._servers = wish.servers
        self._request_id = str(uuid.uuid4())
        self._lease: Optional[HeldLease] = None
        self._call: Optional[grpc.Call] = None
        self._troubled = False
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="lock-hold", daemon=True).start()

    def release(self, lease: HeldLease) -> lock_pb2.ReleaseLockResponse:
        """Gives the lease back, so that the next in the queue need not wait for its end. Harmless to repeat."""
        request = lock_pb2.ReleaseLockRequest(lease_id=lease.id)
        for attempt in range(1, self._servers.count + 2):
            try:
                return self._servers.stub().ReleaseLock(request, timeout=RELEASE_TIMEOUT)
            except grpc.RpcError as error:
                pause = pause_after(error, attempt)
                if pause is None or attempt > self._servers.count:
                    raise
                self._servers.next()
                time.sleep(pause)
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Lets go of the stream. What is still held lives on to its ttl."""
        self._closed.set()
        if self._call is not None:
            self._call.cancel()

    def _run(self) -> None:
        try:
            self._follow()
        except Exception as error:  # whatever it is, the worker must hear of it
            if self._lease is None:
                self._wish.on_failed(error)
            else:
                self._lease.end(error if isinstance(error, LeaseOver) else LeaseOver(f"lease given up: {error}"))

    def _follow(self) -> None:
        """Opens one stream after the other until the lease is over."""
        failures = 0
        while not self._finished():
            error, heard = self._read()
            if self._finished():
                return
            failures = 1 if heard else failures + 1
            pause = self._pause_or_give_up(error, failures)
            self._servers.next()
            self._say_broken(error)
            self._closed.wait(pause)

    def _finished(self) -> bool:
        return self._closed.is_set() or (self._lease is not None and self._lease.over)

    def _read(self) -> Tuple[Optional[grpc.RpcError], bool]:
        """Reads one stream to its end. Without a timeout: a stream is no call that should be answered by some time."""
        # Before anything is sent: all offsets of this stream count from the server's receipt, which is later.
        t0 = time.monotonic()
        call = self._servers.stub().HoldLock(self._request())
        self._call = call
        heard = False
        silence = self._watch_silence(call)
        try:
            for response in call:
                heard = True
                silence.cancel()
                self._on_event(t0, response.hold_event)
                silence = self._watch_silence(call)
            return None, heard
        except grpc.RpcError as error:
            return error, heard
        finally:
            silence.cancel()

    def _watch_silence(self, call: grpc.Call) -> threading.Timer:
        """A server that says nothing for two renewals is stuck: there is time to find another one. While waiting there
        may be nothing to say."""
        timer = threading.Timer(
            2 * min(self._wish.ttl / 3, LONGEST_RENEWAL),
            lambda: call.cancel() if self._lease is not None else None,
        )
        timer.daemon = True
        timer.start()
        return timer

    def _request(self) -> lock_pb2.HoldLockRequest:
        if self._lease is not None:
            return lock_pb2.HoldLockRequest(lease_id=self._lease.id)
        ttl = Duration()
        ttl.FromNanoseconds(round(self._wish.ttl * 1e9))
        acquire = lock_pb2.AcquireLockRequest(
            name=self._wish.name, holder_id=self._wish.holder_id, ttl=ttl, request_id=self._request_id
        )
        return lock_pb2.HoldLockRequest(acquire=acquire)

    def _on_event(self, t0: float, event: lease_pb2.HoldEvent) -> None:
        kind = event.WhichOneof("event")
        if kind == "queued":
            behind = f", behind {event.queued.holder.holder_id}" if event.queued.HasField("holder") else ""
            self._wish.say(f"queued: place {event.queued.position} of {event.queued.waiter_count}{behind}")
        elif kind == "granted":
            self._on_granted(t0, event.granted.lease)
        elif self._lease is None:
            return
        elif kind == "renewed":
            self._lease.renewed(t0, event.renewed.expire_offset)
        elif kind == "renewal_failed":
            self._lease.renewed(t0, event.renewal_failed.expire_offset)
            self._wish.say(f"renewal failed: {cause_text(event.renewal_failed.cause)}; {self._left_text()}")
        elif kind == "released":
            self._lease.end(LeaseOver("lease released"))
        elif kind == "lost":
            self._lease.end(LeaseOver(f"lease lost: {cause_text(event.lost.cause)}"))

    def _on_granted(self, t0: float, lease: lease_pb2.Lease) -> None:
        if self._lease is None:
            self._lease = HeldLease(t0, lease)
            self._wish.on_granted(self._lease)
        elif lease.fencing_token != self._lease.token:
            # Cannot happen: attaching never grants. Under another token this would not be the work that was begun.
            self._lease.end(LeaseOver("lease lost: the lock came back under another token"))
        else:
            self._lease.renewed(t0, lease.expire_offset)
            self._wish.say(
                f"attached at {self._servers.address}, same token {lease.fencing_token}; {self._left_text()}"
            )
        self._troubled = False

    def _pause_or_give_up(self, error: Optional[grpc.RpcError], failures: int) -> float:
        """Answers how long to pause before the next stream; raises where there is to be none."""
        fault = holdfast_error(error) if error is not None else None
        if self._lease is not None and fault is not None and fault.reason == "LEASE_NOT_HELD":
            raise LeaseOver(f"lease lost: {fault.metadata.get('cause', 'cause unknown')}")
        if self._lease is None and fault is not None and fault.reason == "REQUEST_FINISHED":
            # The grant came when no stream of ours was there to bring it, and it is over. Nothing was done under it.
            self._request_id = str(uuid.uuid4())
            return 0
        pause = pause_after(error, failures)
        if pause is None:
            raise RuntimeError(error.details() if error is not None else "the stream ended")
        return pause

    def _say_broken(self, error: Optional[grpc.RpcError]) -> None:
        """Once for each time of trouble, not for each try."""
        if self._troubled:
            return
        self._troubled = True
        why = error.details() if error is not None else "ended without a reason"
        plan = "waiting on by request_id" if self._lease is None else f"attaching by lease_id; {self._left_text()}"
        self._wish.say(f"stream failed ({why}); {plan}")

    def _left_text(self) -> str:
        return f"{span_text(max(0.0, self._lease.left()) if self._lease is not None else 0.0)} left"
