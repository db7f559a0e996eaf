"""The commands of the benchmarks. No case uses them."""

import asyncio
import gc
from typing import Any, Awaitable, Callable, Dict, List, cast

import grpc.aio
from commands import Desk

from holdfast import aio
from holdfast.v1 import lock_service_pb2, lock_service_pb2_grpc

Fields = Dict[str, Any]

_held: List[aio.Lease] = []
_stubs: List[lock_service_pb2_grpc.LockServiceStub] = []


async def _pairs(fields: Fields, pair: Callable[[str], Awaitable[None]]) -> Fields:
    """Does `count` pairs, with `in_flight` of them at once, each on a lock of its own."""
    left = iter(range(fields["count"]))

    async def loop(index: int) -> None:
        for _ in left:
            await pair(f"{fields['name']}-{index}")

    await asyncio.gather(*map(loop, range(fields["in_flight"])))
    return {"ok": True}


async def bench_pairs(desk: Desk, fields: Fields) -> Fields:
    client = desk.client(fields)

    async def pair(name: str) -> None:
        await (await client.lock(name)).release()

    return await _pairs(fields, pair)


async def bench_stub_pairs(desk: Desk, fields: Fields) -> Fields:
    """The same with the bare generated stub over one connection."""
    if not _stubs:
        options = [("grpc.use_local_subchannel_pool", 1)]
        channel = grpc.aio.insecure_channel(fields["addresses"][0], options)
        _stubs.append(lock_service_pb2_grpc.LockServiceStub(channel))
    # The stubs are typed for channels of threads.
    stub = cast(Any, _stubs[0])

    async def pair(name: str) -> None:
        answer = await stub.AcquireLock(lock_service_pb2.AcquireLockRequest(name=name))
        lease_id = answer.lease.lease_id
        await stub.ReleaseLock(lock_service_pb2.ReleaseLockRequest(lease_id=lease_id))

    return await _pairs(fields, pair)


async def bench_hold(desk: Desk, fields: Fields) -> Fields:
    """Acquires `count` locks, with `in_flight` acquires at once, and keeps the leases."""
    client = desk.client(fields)
    numbers = iter(range(fields["count"]))

    async def loop(_: int) -> None:
        for number in numbers:
            _held.append(await client.lock(f"{fields['name']}-{number}"))

    await asyncio.gather(*map(loop, range(fields["in_flight"])))
    return {"ok": True}


async def bench_settle(desk: Desk, fields: Fields) -> Fields:
    gc.collect()
    return {"held": sum(lease.is_valid for lease in _held)}


BENCH: Dict[str, Callable[[Desk, Fields], Awaitable[Fields]]] = {
    work.__name__: work for work in (bench_pairs, bench_stub_pairs, bench_hold, bench_settle)
}
