"""The commands of the driver, over the package's asyncio face."""

import asyncio
import os
from typing import Awaitable, Callable, Dict

from failures import Unsupported
from fields import (
    Fields,
    connect_options,
    count_threads_and_sockets,
    entries,
    lock_options,
    on_lost,
    options,
    permits_options,
    read_byte_of_child,
    suggestions,
    try_lock_options,
    try_permits_options,
)

from holdfast import aio


class Desk:
    """What the names of the case stand for."""

    def __init__(self, write: Callable[[Fields], None], cancel: Callable[[int], None]) -> None:
        self.write = write
        self.cancel = cancel
        self.clients: Dict[str, aio.Holdfast] = {}
        self.leases: Dict[str, aio.Lease] = {}
        self.type_aheads: Dict[str, aio.TypeAhead] = {}
        self.bodies: Dict[int, asyncio.Future[None]] = {}
        self._first: Dict[str, int] = {}

    def count_first(self) -> None:
        self._first = count()

    def leaks(self) -> Dict[str, int]:
        return {kind: max(0, number - self._first[kind]) for kind, number in count().items()}

    def client(self, fields: Fields) -> aio.Holdfast:
        return self.clients[fields["client"]]

    def watch(self, name: str, lease: aio.Lease) -> None:
        self.leases[name] = lease
        lease.on_lost(on_lost(self.write, name))


def count() -> Dict[str, int]:
    """Without the task that counts."""
    return {"tasks": len(asyncio.all_tasks()) - 1, **count_threads_and_sockets("driver")}


def granted(desk: Desk, fields: Fields, lease: aio.Lease) -> Fields:
    desk.watch(fields["lease"], lease)
    return {"granted": {"token": str(lease.fencing_token)}}


async def connect(desk: Desk, fields: Fields) -> Fields:
    given = connect_options(fields)
    desk.clients[fields["client"]] = await aio.connect(fields["addresses"], **given)
    return {"connected": True}


async def lock(desk: Desk, fields: Fields) -> Fields:
    acquiring = desk.client(fields).lock(fields["name"], **lock_options(fields))
    return granted(desk, fields, await acquiring)


async def try_lock(desk: Desk, fields: Fields) -> Fields:
    given = try_lock_options(fields)
    lease = await desk.client(fields).try_lock(fields["name"], **given)
    return {"contended": True} if lease is None else granted(desk, fields, lease)


async def permits(desk: Desk, fields: Fields) -> Fields:
    acquiring = desk.client(fields).permits(fields["name"], **permits_options(fields))
    return granted(desk, fields, await acquiring)


async def try_permits(desk: Desk, fields: Fields) -> Fields:
    given = try_permits_options(fields)
    lease = await desk.client(fields).try_permits(fields["name"], **given)
    return {"contended": True} if lease is None else granted(desk, fields, lease)


async def check(desk: Desk, fields: Fields) -> Fields:
    lease = desk.leases[fields["lease"]]
    lease.check()
    return {"valid": True, "remaining_ms": lease.remaining * 1000}


async def release(desk: Desk, fields: Fields) -> Fields:
    return {"released": await desk.leases[fields["lease"]].release()}


async def update(desk: Desk, fields: Fields) -> Fields:
    await desk.leases[fields["lease"]].update_metadata(fields["metadata"])
    return {"updated": True}


async def update_value(desk: Desk, fields: Fields) -> Fields:
    lease = desk.leases[fields["lease"]]
    assert isinstance(lease, aio.LeaderLease)
    await lease.update_value(fields["value"])
    return {"updated": True}


async def with_lock(desk: Desk, fields: Fields) -> Fields:
    number = fields["id"]
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    desk.bodies[number] = end

    def tell(state: str, **more: str) -> None:
        desk.write({"event": "body", "of": number, "state": state, **more})

    async with desk.client(fields).lock(fields["name"], **lock_options(fields)) as lease:
        tell("started", token=str(lease.fencing_token))
        try:
            await asyncio.shield(end)
        except asyncio.CancelledError:
            tell("cancelled")
            if not fields.get("ignore_cancel"):
                raise
            await end
        finally:
            tell("ended")
    return {"done": True}


async def end_work(desk: Desk, fields: Fields) -> Fields:
    end = desk.bodies.pop(fields["of"])
    if "fail" in fields:
        end.set_exception(RuntimeError(fields["fail"]))
    else:
        end.set_result(None)
    return {"ended": True}


async def cancel(desk: Desk, fields: Fields) -> Fields:
    desk.cancel(fields["of"])
    return {"cancelled": True}


async def campaign(desk: Desk, fields: Fields) -> Fields:
    election = desk.client(fields).election(fields["election"])
    lease = await election.campaign(fields["value"], **options(fields, ttl="ttl_ms"))
    return granted(desk, fields, lease)


async def leader(desk: Desk, fields: Fields) -> Fields:
    found = await desk.client(fields).election(fields["election"]).leader()
    if found is None:
        return {"leader": None}
    return {"leader": {"value": found.value, "token": str(found.fencing_token)}}


async def observe(desk: Desk, fields: Fields) -> Fields:
    async for found in desk.client(fields).election(fields["election"]).observe():
        value = None if found is None else found.value
        desk.write({"event": "leader", "of": fields["id"], "value": value})
    return {"cancelled": True}


async def add_recent(desk: Desk, fields: Fields) -> Fields:
    recents = desk.client(fields).recents(fields["list"])
    await recents.add(fields["text"], **options(fields, entry_id="entry_id"))
    return {"ok": True}


async def suggest_recents(desk: Desk, fields: Fields) -> Fields:
    recents = desk.client(fields).recents(fields["list"])
    return suggestions(await recents.suggest(**options(fields, query="query", limit="limit")))


def dictionary(desk: Desk, fields: Fields) -> aio.Dictionary:
    return desk.client(fields).dictionary(fields["dictionary"])


async def create_dictionary(desk: Desk, fields: Fields) -> Fields:
    await dictionary(desk, fields).create()
    return {"ok": True}


async def put(desk: Desk, fields: Fields) -> Fields:
    await dictionary(desk, fields).put(entries(fields))
    return {"ok": True}


async def import_(desk: Desk, fields: Fields) -> Fields:
    await dictionary(desk, fields).import_entries(entries(fields))
    return {"ok": True}


async def suggest(desk: Desk, fields: Fields) -> Fields:
    given = options(fields, query="query", limit="limit")
    return suggestions(await dictionary(desk, fields).suggest(**given))


async def suggest_all(desk: Desk, fields: Fields) -> Fields:
    given = options(fields, query="query", page_size="page_size")
    found = [one async for one in dictionary(desk, fields).suggest_all(**given)]
    return suggestions(found)


async def record_selection(desk: Desk, fields: Fields) -> Fields:
    await dictionary(desk, fields).record_selection(fields["entry_id"])
    return {"ok": True}


async def delete_dictionary(desk: Desk, fields: Fields) -> Fields:
    await dictionary(desk, fields).delete()
    return {"ok": True}


async def type_ahead(desk: Desk, fields: Fields) -> Fields:
    given = options(fields, debounce="debounce_ms")
    desk.type_aheads[fields["as"]] = dictionary(desk, fields).type_ahead(**given)
    return {"opened": True}


async def type_(desk: Desk, fields: Fields) -> Fields:
    found = await desk.type_aheads[fields["as"]].type(fields["query"])
    return {"superseded": True} if found is None else suggestions(found)


async def server_info(desk: Desk, fields: Fields) -> Fields:
    info = await desk.client(fields).server_info()
    return {"version": info.version, "features": list(info.features)}


async def fork(desk: Desk, fields: Fields) -> Fields:
    if not hasattr(os, "fork"):
        raise Unsupported()
    lease = desk.leases[fields["lease"]]

    def in_child() -> bytes:
        is_valid = lease.is_valid
        for work in [lease.release(), *(client.close() for client in desk.clients.values())]:
            try:
                work.send(None)
            except StopIteration:
                pass
        return b"1" if is_valid else b"0"

    return {"child": {"valid": read_byte_of_child(in_child) == b"1"}}


async def close(desk: Desk, fields: Fields) -> Fields:
    await desk.client(fields).close()
    return {"closed": True}


async def leaks(desk: Desk, fields: Fields) -> Fields:
    return desk.leaks()


COMMANDS: Dict[str, Callable[[Desk, Fields], Awaitable[Fields]]] = {
    work.__name__.rstrip("_"): work
    for work in (
        connect, lock, try_lock, permits, try_permits, check, release, update, update_value,
        with_lock,
        end_work, cancel, campaign, leader, observe, add_recent, suggest_recents,
        create_dictionary, put, import_, suggest, suggest_all, record_selection, delete_dictionary,
        type_ahead, type_, server_info, fork, close, leaks,
    )
}  # fmt: skip
