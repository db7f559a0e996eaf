"""One lease, asked for once and held over a stream that the server keeps renewed.

When the stream breaks and the lease does not, it goes on at the next server: before the grant with the same
`request_id`, which keeps the place in the queue, and after it with the `lease_id`, which attaches to the same lease
and never grants. Work goes on meanwhile: the deadline decides about that, not the connection.
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
# The server renews every third of the ttl, at least every 10 s, and says so each time.
LONGEST_RENEWAL = 10.0


class Released(Protocol):
    """How a lease ended, as ReleaseLock and ReleasePermits answer."""

    released: bool
    loss_cause: int


class Resource(Protocol):
    """What is held: how its service asks for it, attaches to it, and takes it back."""

    ttl: float

    def ask(self, channel: grpc.Channel, request_id: str) -> grpc.Call: ...

    def attach(self, channel: grpc.Channel, lease_id: str) -> grpc.Call: ...

    def release(self, channel: grpc.Channel, lease_id: str, timeout: float) -> Released: ...


@dataclass
class Wish:
    servers: Servers
    resource: Resource
    say: Callable[[str], None]
    on_queued: Callable[[lease_pb2.HoldQueued], None]
    # Called by the reading thread, once: with the held lease, or with why it cannot be had.
    on_granted: Callable[[HeldLease], None]
    on_failed: Callable[[Exception], None]


class Refused(Exception):
    """The service has said no, and to ask again would not change that."""

    def __init__(self, message: str, fault: Optional[Fault]):
        super().__init__(message)
        self.fault = fault


class Hold:
    def __init__(self, wish: Wish):
        self._wish = wish
        self._servers = wish.servers
        self._request_id = str(uuid.uuid4())
        self._lease: Optional[HeldLease] = None
        self._call: Optional[grpc.Call] = None
        self._troubled = False
        self._closed = threading.Event()
        self._reader = threading.Thread(target=self._run, name="hold", daemon=True)
        self._reader.start()

    def release(self, lease: HeldLease) -> Released:
        """Gives the lease back, so that the next in the queue need not wait for its end. Harmless to repeat."""
        return call_anywhere(
            self._servers, lambda channel: self._wish.resource.release(channel, lease.id, RELEASE_TIMEOUT)
        )

    def close(self) -> None:
        """Lets go of the stream. What is still held lives on to its ttl."""
        self._closed.set()
        if self._call is not None:
            self._call.cancel()
        self._reader.join(CLOSE_TIMEOUT)

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
        call = self._open()
        self._call = call
        # close() sets the one and then looks at the other; here it is the other way round, so one of the two sees it.
        if self._closed.is_set():
            call.cancel()
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
            2 * min(self._wish.resource.ttl / 3, LONGEST_RENEWAL),
            lambda: call.cancel() if self._lease is not None else None,
        )
        timer.daemon = True
        timer.start()
        return timer

    def _open(self) -> grpc.Call:
        if self._lease is not None:
            return self._wish.resource.attach(self._servers.channel, self._lease.id)
        return self._wish.resource.ask(self._servers.channel, self._request_id)

    def _on_event(self, t0: float, event: lease_pb2.HoldEvent) -> None:
        kind = event.WhichOneof("event")
        if kind == "queued":
            self._wish.on_queued(event.queued)
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
            self._lease.end(LeaseOver("lease lost: it came back under another token"))
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
            raise Refused(error.details() if error is not None else "the stream ended", fault)
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
