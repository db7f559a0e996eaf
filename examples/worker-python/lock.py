"""The calls of a lock, for hold.py."""

from __future__ import annotations

import grpc
from held_lease import duration_of
from holdfast.v1 import lock_service_pb2 as lock_pb2
from holdfast.v1.lock_service_pb2_grpc import LockServiceStub


class Lock:
    def __init__(self, name: str, holder_id: str, ttl: float):
        self.ttl = ttl
        self._name = name
        self._holder_id = holder_id

    def ask(self, channel: grpc.Channel, request_id: str) -> grpc.Call:
        acquire = lock_pb2.AcquireLockRequest(
            name=self._name, holder_id=self._holder_id, ttl=duration_of(self.ttl), request_id=request_id
        )
        return LockServiceStub(channel).HoldLock(lock_pb2.HoldLockRequest(acquire=acquire))

    def attach(self, channel: grpc.Channel, lease_id: str) -> grpc.Call:
        return LockServiceStub(channel).HoldLock(lock_pb2.HoldLockRequest(lease_id=lease_id))

    def release(self, channel: grpc.Channel, lease_id: str, timeout: float) -> lock_pb2.ReleaseLockResponse:
        request = lock_pb2.ReleaseLockRequest(lease_id=lease_id)
        return LockServiceStub(channel).ReleaseLock(request, timeout=timeout)
