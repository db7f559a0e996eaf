"""The commands of the driver, over the package's asyncio face."""

import asyncio
import os
import threading
import time
from typing import Any, Awaitable, Callable, Dict, Iterable, List

from failures import Unsupported

from holdfast import BearerToken, Entry, Suggestion, Tls, TokenFile, aio

Fields = Dict[str, Any]


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
        granted_at = time.monotonic()
        self.leases[name] = lease
        lease.on_lost(
            lambda loss: self.write(
                {
                    "event": "lost",
                    "lease": name,
                    "cause": str(loss.loss_cause),
                    "noticed_by": loss.noticed_by,
                    "at_ms": round((time.monotonic() - granted_at) * 1000),
                }
            )
        )


def count() -> Dict[str, int]:
    """Without the task that counts."""
    found = {"threads": threading.active_count(), "tasks": len(asyncio.all_tasks()) - 1}
    if os.path.isdir("/proc/self/fd"):
        found["sockets"] = sum(map(_is_socket, os.listdir("/proc/self/fd")))
    return found


def _is_socket(descriptor: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:")
    except OSError:
        return False


def options(fields: Fields, **names: str) -> Fields:
    """Options by their names in the package. Those that the case leaves out are left out."""
    found = {}
    for option, name in names.items():
        if name in fields:
            is_time = name.endswith("_ms")
            found[option] = fields[name] / 1000 if is_time else fields[name]
    return found


def lock_options(fields: Fields) -> Fields:
    found = options(fields, ttl="ttl_ms", max_hold="max_hold_ms", metadata="metadata")
    if "mode" in fields:
        found["shared"] = fields["mode"] == "shared"
    return found


def permits_options(fields: Fields) -> Fields:
    found = options(fields, ttl="ttl_ms", max_hold="max_hold_ms", metadata="metadata")
    return {**found, **options(fields, permits="permits", limit="limit")}


def wait(fields: Fields) -> Fields:
    return options(fields, wait="wait_ms")


def granted(desk: Desk, fields: Fields, lease: aio.Lease) -> Fields:
    desk.watch(fields["lease"], lease)
    return {"granted": {"token": str(lease.fencing_token)}}


async def connect(desk: Desk, fields: Fields) -> Fields:
    given = options(fields, holder_id="holder_id", metadata="metadata")
    given.update(options(fields, connect_timeout="connect_ms"))
    if "tls" in fields:
        given["tls"] = Tls(**fields["tls"])
    if "token" in fields:
        given["token"] = fields["token"]
    if "token_file" in fields:
        given["token"] = TokenFile(fields["token_file"])
    if "tokens" in fields:
        given["token"] = tokens(fields["tokens"], fields.get("token_expires_in_ms"))
    desk.clients[fields["client"]] = await aio.connect(fields["addresses"], **given)
    return {"connected": True}


def tokens(texts: List[str], life_ms: Any) -> Callable[[], BearerToken]:
    left = list(texts)
    life = None if life_ms is None else life_ms / 1000

    def following() -> BearerToken:
        return BearerToken(left.pop(0) if len(left) > 1 else left[0], life)

    return following


async def lock(desk: Desk, fields: Fields) -> Fields:
    acquiring = desk.client(fields).lock(fields["name"], **lock_options(fields), **wait(fields))
    return granted(desk, fields, await acquiring)


async def try_lock(desk: Desk, fields: Fields) -> Fields:
    lease = await desk.client(fields).try_lock(fields["name"], **lock_options(fields))
    return {"contended": True} if lease is None else granted(desk, fields, lease)


async def permits(desk: Desk, fields: Fields) -> Fields:
    given = {**permits_options(fields), **wait(fields)}
    return granted(desk, fields, await desk.client(fields).permits(fields["name"], **given))


async def try_permits(desk: Desk, fields: Fields) -> Fields:
    given = permits_options(fields)
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


async def with_lock(desk: Desk, fields: Fields) -> Fields:
    number = fields["id"]
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    desk.bodies[number] = end

    def tell(state: str, **more: str) -> None:
        desk.write({"event": "body", "of": number, "state": state, **more})

    given = {**lock_options(fields), **wait(fields)}
    async with desk.client(fields).lock(fields["name"], **given) as lease:
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


def entries(fields: Fields) -> Iterable[Entry]:
    for entry in fields["entries"]:
        weight = int(entry.get("weight", 0))
        yield Entry(entry["entry_id"], entry["text"], weight=weight)


async def put(desk: Desk, fields: Fields) -> Fields:
    await dictionary(desk, fields).put(entries(fields))
    return {"ok": True}


async def import_(desk: Desk, fields: Fields) -> Fields:
    await dictionary(desk, fields).import_entries(entries(fields))
    return {"ok": True}


async def suggest(desk: Desk, fields: Fields) -> Fields:
    given = options(fields, query="query", limit="limit")
    return suggestions(await dictionary(desk, fields).suggest(**given))


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


def suggestions(found: List[Suggestion]) -> Fields:
    return {"suggestions": [{"entry_id": one.id, "text": one.text} for one in found]}


async def server_info(desk: Desk, fields: Fields) -> Fields:
    info = await desk.client(fields).server_info()
    return {"version": info.version, "features": list(info.features)}


async def fork(desk: Desk, fields: Fields) -> Fields:
    if not hasattr(os, "fork"):
        raise Unsupported()
    lease = desk.leases[fields["lease"]]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"1" if lease.is_valid else b"0")
        for work in [lease.release(), *(client.close() for client in desk.clients.values())]:
            try:
                work.send(None)
            except StopIteration:
                pass
        os._exit(0)
    os.close(writing)
    valid = os.read(reading, 1) == b"1"
    os.close(reading)
    os.waitpid(child, 0)
    return {"child": {"valid": valid}}


async def close(desk: Desk, fields: Fields) -> Fields:
    await desk.client(fields).close()
    return {"closed": True}


async def leaks(desk: Desk, fields: Fields) -> Fields:
    return desk.leaks()


COMMANDS: Dict[str, Callable[[Desk, Fields], Awaitable[Fields]]] = {
    work.__name__.rstrip("_"): work
    for work in (
        connect, lock, try_lock, permits, try_permits, check, release, update, with_lock,
        end_work, cancel, campaign, leader, observe, add_recent, suggest_recents,
        create_dictionary, put, import_, suggest, record_selection, delete_dictionary,
        type_ahead, type_, server_info, fork, close, leaks,
    )
}  # fmt: skip
