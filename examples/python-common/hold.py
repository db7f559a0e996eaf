"""Requests one lease and holds it over a stream, on which the server renews the lease.

If the stream breaks, the hold continues at the next server. Before the grant, the new stream sends the same
`request_id`, which keeps the place in the queue. After the grant, the new stream sends the `lease_id`, which attaches
to the same lease and never grants a new lease. The work may continue until the deadline of the lease.
"""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass
from typing import Callable, Optional, Protocol, Tuple

import grpc
from held_lease import HeldLease, LeaseOver
from holdfast.v1 import lease_pb2
from holdfast_error import Fault, holdfast_error
from retry import call_anywhere, pause_after
from servers import Servers
from words import cause_text, span_text

RELEASE_TIMEOUT = 2.0
CLOSE_TIMEOUT = 1.0
# The longest time between two renewals. The server renews after a third of the ttl, and sends an event each time.
LONGEST_RENEWAL = 10.0


class Released(Protocol):
    """The common fields of the answers to ReleaseLock and ReleasePermits."""

    released: bool
    loss_cause: int


class Resource(Protocol):
    """The calls of one service, for a lock or for permits of a semaphore."""

    ttl: float

    def ask(self, channel: grpc.Channel, request_id: str) -> grpc.Call: ...

    def attach(self, channel: grpc.Channel, lease_id: str) -> grpc.Call: ...

    def release(self, channel: grpc.Channel, lease_id: str, timeout: float) -> Released: ...


@dataclass
class HoldOptions:
    servers: Servers
    resource: Resource
    say: Callable[[str], None]
    on_queued: Callable[[lease_pb2.HoldQueued], None]
    # The reading thread calls either on_granted or on_failed, and calls this function once.
    on_granted: Callable[[HeldLease], None]
    on_failed: Callable[[Exception], None]


class Refused(Exception):
    """The server refused the request, and a retry cannot help."""

    def __init__(self, message: str, fault: Optional[Fault]):
        super().__init__(message)
        self.fault = fault


class Hold:
    def __init__(self, options: HoldOptions):
        self._options = options
        self._servers = options.servers
        self._request_id = str(uuid.uuid4())
        self._lease: Optional[HeldLease] = None
        self._call: Optional[grpc.Call] = None
        # True: a broken stream was reported, and no new stream has been granted or attached yet.
        self._broken = False
        self._closed = threading.Event()
        self._reader = threading.Thread(target=self._run, name="hold", daemon=True)
        self._reader.start()

    def release(self, lease: HeldLease) -> Released:
        """Releases the lease, so that the next waiter does not wait for the expiry. Safe to repeat."""
        return call_anywhere(
            self._servers, lambda channel: self._options.resource.release(channel, lease.id, RELEASE_TIMEOUT)
        )

    def close(self) -> None:
        """Closes the stream. A lease that is still held expires after its ttl."""
        self._closed.set()
        if self._call is not None:
            self._call.cancel()
        self._reader.join(CLOSE_TIMEOUT)

    def _run(self) -> None:
        try:
            self._follow()
        except Exception as error:  # the worker must receive every error
            if self._lease is None:
                self._options.on_failed(error)
            else:
                self._lease.end(error if isinstance(error, LeaseOver) else LeaseOver(f"lease given up: {error}"))

    def _follow(self) -> None:
        """Opens one stream after the other until the lease has ended."""
        failures = 0
        while not self._finished():
            error, received_event = self._read()
            if self._finished():
                return
            failures = 1 if received_event else failures + 1
            pause = self._pause_or_give_up(error, failures)
            self._servers.next()
            self._report_broken(error)
            self._closed.wait(pause)

    def _finished(self) -> bool:
        return self._closed.is_set() or (self._lease is not None and self._lease.over)

    def _read(self) -> Tuple[Optional[grpc.RpcError], bool]:
        """Reads one stream to its end. The call has no timeout, because the stream stays open as long as the lease."""
        # `t0` must be earlier than the receipt of the request by the server, because offsets count from this receipt.
        t0 = time.monotonic()
        call = self._open()
        self._call = call
        # close() sets `_closed` and then reads `_call`. This thread sets `_call` and then reads `_closed`. So at least
        # one of the two threads cancels the call.
        if self._closed.is_set():
            call.cancel()
        received_event = False
        silence = self._watch_silence(call)
        try:
            for response in call:
                received_event = True
                silence.cancel()
                self._on_event(t0, response.hold_event)
                silence = self._watch_silence(call)
            return None, received_event
        except grpc.RpcError as error:
            return error, received_event
        finally:
            silence.cancel()

    def _watch_silence(self, call: grpc.Call) -> threading.Timer:
        """Cancels the call if the server sends nothing for two renewal periods. A third of the ttl is then left to
        attach at another server. The timer acts only on a held lease, because a waiter receives few events."""
        timer = threading.Timer(
            2 * min(self._options.resource.ttl / 3, LONGEST_RENEWAL),
            lambda: call.cancel() if self._lease is not None else None,
        )
        timer.daemon = True
        timer.start()
        return timer

    def _open(self) -> grpc.Call:
        if self._lease is not None:
            return self._options.resource.attach(self._servers.channel, self._lease.id)
        return self._options.resource.ask(self._servers.channel, self._request_id)

    def _on_event(self, t0: float, event: lease_pb2.HoldEvent) -> None:
        kind = event.WhichOneof("event")
        if kind == "queued":
            self._options.on_queued(event.queued)
        elif kind == "granted":
            self._on_granted(t0, event.granted.lease)
        elif self._lease is None:
            return
        elif kind == "renewed":
            self._lease.renewed(t0, event.renewed.expire_offset)
        elif kind == "renewal_failed":
            self._lease.renewed(t0, event.renewal_failed.expire_offset)
            self._options.say(f"renewal failed: {cause_text(event.renewal_failed.cause)}; {self._left_text()}")
        elif kind == "released":
            self._lease.end(LeaseOver("lease released"))
        elif kind == "lost":
            self._lease.end(LeaseOver(f"lease lost: {cause_text(event.lost.cause)}"))

    def _on_granted(self, t0: float, lease: lease_pb2.Lease) -> None:
        if self._lease is None:
            self._lease = HeldLease(t0, lease)
            self._options.on_granted(self._lease)
        elif lease.fencing_token != self._lease.token:
            # This cannot happen: attaching never grants a new lease. Work must not continue with another token.
            self._lease.end(LeaseOver("lease lost: it came back under another token"))
        else:
            self._lease.renewed(t0, lease.expire_offset)
            self._options.say(
                f"attached at {self._servers.address}, same token {lease.fencing_token}; {self._left_text()}"
            )
        self._broken = False

    def _pause_or_give_up(self, error: Optional[grpc.RpcError], failures: int) -> float:
        """The pause before the next stream in seconds. Raises if no new stream can help."""
        fault = holdfast_error(error) if error is not None else None
        if self._lease is not None and fault is not None and fault.reason == "LEASE_NOT_HELD":
            raise LeaseOver(f"lease lost: {fault.metadata.get('cause', 'cause unknown')}")
        if self._lease is None and fault is not None and fault.reason == "REQUEST_FINISHED":
            # The lease was granted while no stream was open, and has expired. No work was done under this lease.
            self._request_id = str(uuid.uuid4())
            return 0
        pause = pause_after(error, failures)
        if pause is None:
            raise Refused(error.details() if error is not None else "the stream ended", fault)
        return pause

    def _report_broken(self, error: Optional[grpc.RpcError]) -> None:
        """Reports a broken stream once, and not for each attempt to open a new stream."""
        if self._broken:
            return
        self._broken = True
        why = error.details() if error is not None else "ended without a reason"
        plan = "still waiting by request_id" if self._lease is None else f"attaching by lease_id; {self._left_text()}"
        self._options.say(f"stream failed ({why}); {plan}")

    def _left_text(self) -> str:
        return f"{span_text(max(0.0, self._lease.left()) if self._lease is not None else 0.0)} left"
