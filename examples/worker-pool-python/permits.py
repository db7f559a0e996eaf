"""The calls of a semaphore, for hold.py."""

from __future__ import annotations

import grpc
from held_lease import duration_of
from holdfast.v1 import semaphore_service_pb2 as semaphore_pb2
from holdfast.v1.semaphore_service_pb2_grpc import SemaphoreServiceStub


class Permits:
    def __init__(self, name: str, holder_id: str, ttl: float, count: int, initial_limit: int):
        """`initial_limit` is used only if the request creates the semaphore."""
        self.ttl = ttl
        self._name = name
        self._holder_id = holder_id
        self._count = count
        self._initial_limit = initial_limit

    def ask(self, channel: grpc.Channel, request_id: str) -> grpc.Call:
        acquire = semaphore_pb2.AcquirePermitsRequest(
            name=self._name,
            holder_id=self._holder_id,
            ttl=duration_of(self.ttl),
            request_id=request_id,
            permit_count=self._count,
            initial_limit=self._initial_limit,
        )
        return SemaphoreServiceStub(channel).HoldPermits(semaphore_pb2.HoldPermitsRequest(acquire=acquire))

    def attach(self, channel: grpc.Channel, lease_id: str) -> grpc.Call:
        return SemaphoreServiceStub(channel).HoldPermits(semaphore_pb2.HoldPermitsRequest(lease_id=lease_id))

    def release(
        self, channel: grpc.Channel, lease_id: str, timeout: float
    ) -> semaphore_pb2.ReleasePermitsResponse:
        request = semaphore_pb2.ReleasePermitsRequest(lease_id=lease_id)
        return SemaphoreServiceStub(channel).ReleasePermits(request, timeout=timeout)
