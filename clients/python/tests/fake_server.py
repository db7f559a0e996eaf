"""A small server: grants each lock at once, renews at each heartbeat, and suggests nothing.

A lock of the name `revoked` is revoked at the next heartbeat, and `taken` is never granted. Writes
its port, and ends with stdin.
"""

import asyncio
import contextlib
import subprocess
import sys
import unittest
import uuid
from typing import Any, AsyncIterator, ClassVar, Dict, Iterator, List, Tuple

import grpc.aio
from google.protobuf.duration_pb2 import Duration

from holdfast._core.durations import duration
from holdfast.v1 import (
    autocomplete_service_pb2_grpc,
    lease_pb2,
    lock_service_pb2_grpc,
    session_service_pb2_grpc,
)
from holdfast.v1.autocomplete_service_pb2 import SuggestStreamRequest, SuggestStreamResponse
from holdfast.v1.lock_service_pb2 import WatchLockRequest, WatchLockResponse
from holdfast.v1.session_service_pb2 import (
    LeaseEnded,
    LeaseGranted,
    LeaseReleased,
    LeaseRenewal,
    LeaseUpdated,
    OpenSessionRequest,
    OpenSessionResponse,
    SessionCommand,
    SessionEndCause,
    SessionEvent,
    SessionStarted,
)


class Session(session_service_pb2_grpc.SessionServiceServicer):
    async def OpenSession(
        self, requests: AsyncIterator[OpenSessionRequest], context: Any
    ) -> AsyncIterator[OpenSessionResponse]:
        held: Dict[int, Tuple[str, Duration]] = {}
        latest = 0
        async for request in requests:
            latest = max(latest, request.heartbeat_id)
            response = OpenSessionResponse(heartbeat_id=latest)
            if request.HasField("start"):
                response.started.CopyFrom(SessionStarted(heartbeat_timeout=duration(15)))
                response.heartbeat_interval.CopyFrom(duration(0.2))
            for command in request.commands:
                response.events.extend(answers(command, held))
            for number, (name, ttl) in list(held.items()):
                if name == "revoked" and request.heartbeat_id:
                    del held[number]
                    ended = LeaseEnded(cause=SessionEndCause.SESSION_END_CAUSE_REVOKED)
                    response.events.append(SessionEvent(command_id=number, ended=ended))
                elif request.heartbeat_id:
                    renewal = LeaseRenewal(lease_number=number, expire_offset=ttl)
                    response.renewals.append(renewal)
            yield response


class Locks(lock_service_pb2_grpc.LockServiceServicer):
    async def WatchLock(
        self, request: WatchLockRequest, context: Any
    ) -> AsyncIterator[WatchLockResponse]:
        """Sends nothing."""
        await asyncio.Event().wait()
        yield WatchLockResponse()


class Autocomplete(autocomplete_service_pb2_grpc.AutocompleteServiceServicer):
    async def SuggestStream(
        self, requests: AsyncIterator[SuggestStreamRequest], context: Any
    ) -> AsyncIterator[SuggestStreamResponse]:
        """Answers nothing."""
        async for _ in requests:
            pass
        return
        yield


def answers(command: SessionCommand, held: Dict[int, Tuple[str, Duration]]) -> List[SessionEvent]:
    number = command.command_id
    kind = command.WhichOneof("command")
    if kind == "acquire_lock":
        ttl = command.acquire_lock.ttl
        lease = lease_pb2.Lease(
            lease_id=str(uuid.uuid4()),
            name=command.acquire_lock.name,
            fencing_token=number,
            permit_count=1,
            ttl=ttl,
            expire_offset=ttl,
        )
        if lease.name == "taken":
            return []
        held[number] = (lease.name, ttl)
        return [SessionEvent(command_id=number, granted=LeaseGranted(lease=lease))]
    if kind == "update" and command.update.metadata_update.entries["stage"] != "silent":
        return [SessionEvent(command_id=number, updated=LeaseUpdated())]
    if kind == "release":
        return [SessionEvent(command_id=number, released=LeaseReleased(released=True))]
    return []


async def serve() -> None:
    server = grpc.aio.server()
    session_service_pb2_grpc.add_SessionServiceServicer_to_server(Session(), server)
    locks = Locks()  # type: ignore[abstract]
    lock_service_pb2_grpc.add_LockServiceServicer_to_server(locks, server)
    autocomplete = Autocomplete()  # type: ignore[abstract]
    autocomplete_service_pb2_grpc.add_AutocompleteServiceServicer_to_server(autocomplete, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop(None)


@contextlib.contextmanager
def running() -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "tests.fake_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield f"127.0.0.1:{int(process.stdout.readline())}"
        assert process.stdin is not None
        process.stdin.close()


class ServerCase(unittest.TestCase):
    """Tests that share a server."""

    address: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        server = running()
        cls.address = server.__enter__()
        cls.addClassCleanup(server.__exit__, None, None, None)


if __name__ == "__main__":
    asyncio.run(serve())
