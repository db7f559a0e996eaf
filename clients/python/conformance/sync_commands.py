"""The commands of the driver, over the package's face for threads."""

import os
import threading
from typing import Callable, Dict

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

import holdfast


class Work:
    """The work of `with_lock`. Threads are not cancelled: the work hears of a loss, and ends."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._is_told = False
        self._is_lost = False
        self._failure = ""

    def lost(self, _: holdfast.LeaseLost) -> None:
        with self._change:
            self._is_lost = True
            self._change.notify_all()

    def end(self, failure: str) -> None:
        with self._change:
            self._is_told, self._failure = True, failure
            self._change.notify_all()

    def wait(self, or_loss: bool) -> bool:
        """True: `end_work` came. False: the lease is lost. Raises the failure of `end_work`."""
        with self._change:
            self._change.wait_for(lambda: self._is_told or (or_loss and self._is_lost))
        if self._is_told and self._failure:
            raise RuntimeError(self._failure)
        return self._is_told


class Desk:
    """What the names of the case stand for."""

    def __init__(self, write: Callable[[Fields], None], cancel: Callable[[int], None]) -> None:
        self.write = write
        self.cancel = cancel
        self.clients: Dict[str, holdfast.Holdfast] = {}
        self.leases: Dict[str, holdfast.Lease] = {}
        self.type_aheads: Dict[str, holdfast.TypeAhead] = {}
        self.works: Dict[int, Work] = {}
        self._first: Dict[str, int] = {}

    def count_first(self) -> None:
        self._first = count_threads_and_sockets("driver")

    def leaks(self) -> Dict[str, int]:
        now = count_threads_and_sockets("driver")
        return {kind: max(0, number - self._first[kind]) for kind, number in now.items()}

    def client(self, fields: Fields) -> holdfast.Holdfast:
        return self.clients[fields["client"]]


def granted(desk: Desk, fields: Fields, lease: holdfast.Lease) -> Fields:
    name = fields["lease"]
    desk.leases[name] = lease
    lease.on_lost(on_lost(desk.write, name))
    return {"granted": {"token": str(lease.fencing_token)}}


def connect(desk: Desk, fields: Fields) -> Fields:
    given = connect_options(fields)
    desk.clients[fields["client"]] = holdfast.connect(fields["addresses"], **given)
    return {"connected": True}


def lock(desk: Desk, fields: Fields) -> Fields:
    acquiring = desk.client(fields).lock(fields["name"], **lock_options(fields))
    return granted(desk, fields, acquiring.acquire())


def try_lock(desk: Desk, fields: Fields) -> Fields:
    lease = desk.client(fields).try_lock(fields["name"], **try_lock_options(fields))
    return {"contended": True} if lease is None else granted(desk, fields, lease)


def permits(desk: Desk, fields: Fields) -> Fields:
    acquiring = desk.client(fields).permits(fields["name"], **permits_options(fields))
    return granted(desk, fields, acquiring.acquire())


def try_permits(desk: Desk, fields: Fields) -> Fields:
    lease = desk.client(fields).try_permits(fields["name"], **try_permits_options(fields))
    return {"contended": True} if lease is None else granted(desk, fields, lease)


def check(desk: Desk, fields: Fields) -> Fields:
    lease = desk.leases[fields["lease"]]
    lease.check()
    return {"valid": True, "remaining_ms": lease.remaining * 1000}


def release(desk: Desk, fields: Fields) -> Fields:
    return {"released": desk.leases[fields["lease"]].release()}


def update(desk: Desk, fields: Fields) -> Fields:
    desk.leases[fields["lease"]].update_metadata(fields["metadata"])
    return {"updated": True}


def update_value(desk: Desk, fields: Fields) -> Fields:
    lease = desk.leases[fields["lease"]]
    assert isinstance(lease, holdfast.LeaderLease)
    lease.update_value(fields["value"])
    return {"updated": True}


def with_lock(desk: Desk, fields: Fields) -> Fields:
    number = fields["id"]
    work = desk.works[number] = Work()

    def tell(state: str, **more: str) -> None:
        desk.write({"event": "body", "of": number, "state": state, **more})

    with desk.client(fields).lock(fields["name"], **lock_options(fields)) as lease:
        try:
            lease.on_lost(work.lost)
            tell("started", token=str(lease.fencing_token))
            if not work.wait(or_loss=True):
                tell("cancelled")
                if not fields.get("ignore_cancel"):
                    lease.check()
                work.wait(or_loss=False)
        except KeyboardInterrupt:
            tell("cancelled")
            raise
        finally:
            tell("ended")
    return {"done": True}


def end_work(desk: Desk, fields: Fields) -> Fields:
    desk.works.pop(fields["of"]).end(fields.get("fail", ""))
    return {"ended": True}


def cancel(desk: Desk, fields: Fields) -> Fields:
    desk.cancel(fields["of"])
    return {"cancelled": True}


def campaign(desk: Desk, fields: Fields) -> Fields:
    election = desk.client(fields).election(fields["election"])
    acquiring = election.campaign(fields["value"], **options(fields, ttl="ttl_ms"))
    return granted(desk, fields, acquiring.acquire())


def leader(desk: Desk, fields: Fields) -> Fields:
    found = desk.client(fields).election(fields["election"]).leader()
    if found is None:
        return {"leader": None}
    return {"leader": {"value": found.value, "token": str(found.fencing_token)}}


def observe(desk: Desk, fields: Fields) -> Fields:
    for found in desk.client(fields).election(fields["election"]).observe():
        value = None if found is None else found.value
        desk.write({"event": "leader", "of": fields["id"], "value": value})
    return {"cancelled": True}


def add_recent(desk: Desk, fields: Fields) -> Fields:
    recents = desk.client(fields).recents(fields["list"])
    recents.add(fields["text"], **options(fields, entry_id="entry_id"))
    return {"ok": True}


def suggest_recents(desk: Desk, fields: Fields) -> Fields:
    recents = desk.client(fields).recents(fields["list"])
    return suggestions(recents.suggest(**options(fields, query="query", limit="limit")))


def dictionary(desk: Desk, fields: Fields) -> holdfast.Dictionary:
    return desk.client(fields).dictionary(fields["dictionary"])


def create_dictionary(desk: Desk, fields: Fields) -> Fields:
    dictionary(desk, fields).create()
    return {"ok": True}


def put(desk: Desk, fields: Fields) -> Fields:
    dictionary(desk, fields).put(entries(fields))
    return {"ok": True}


def import_(desk: Desk, fields: Fields) -> Fields:
    dictionary(desk, fields).import_entries(entries(fields))
    return {"ok": True}


def suggest(desk: Desk, fields: Fields) -> Fields:
    given = options(fields, query="query", limit="limit")
    return suggestions(dictionary(desk, fields).suggest(**given))


def suggest_all(desk: Desk, fields: Fields) -> Fields:
    given = options(fields, query="query", page_size="page_size")
    found = list(dictionary(desk, fields).suggest_all(**given))
    return suggestions(found)


def record_selection(desk: Desk, fields: Fields) -> Fields:
    dictionary(desk, fields).record_selection(fields["entry_id"])
    return {"ok": True}


def delete_dictionary(desk: Desk, fields: Fields) -> Fields:
    dictionary(desk, fields).delete()
    return {"ok": True}


def type_ahead(desk: Desk, fields: Fields) -> Fields:
    given = options(fields, debounce="debounce_ms")
    desk.type_aheads[fields["as"]] = dictionary(desk, fields).type_ahead(**given)
    return {"opened": True}


def type_(desk: Desk, fields: Fields) -> Fields:
    found = desk.type_aheads[fields["as"]].type(fields["query"])
    return {"superseded": True} if found is None else suggestions(found)


def server_info(desk: Desk, fields: Fields) -> Fields:
    info = desk.client(fields).server_info()
    return {"version": info.version, "features": list(info.features)}


def fork(desk: Desk, fields: Fields) -> Fields:
    if not hasattr(os, "fork"):
        raise Unsupported()
    lease = desk.leases[fields["lease"]]

    def in_child() -> bytes:
        is_valid = lease.is_valid
        lease.release()
        for client in desk.clients.values():
            client.close()
        return b"1" if is_valid else b"0"

    return {"child": {"valid": read_byte_of_child(in_child) == b"1"}}


def close(desk: Desk, fields: Fields) -> Fields:
    desk.client(fields).close()
    return {"closed": True}


def leaks(desk: Desk, fields: Fields) -> Fields:
    return desk.leaks()


COMMANDS: Dict[str, Callable[[Desk, Fields], Fields]] = {
    work.__name__.rstrip("_"): work
    for work in (
        connect, lock, try_lock, permits, try_permits, check, release, update, update_value,
        with_lock,
        end_work, cancel, campaign, leader, observe, add_recent, suggest_recents,
        create_dictionary, put, import_, suggest, suggest_all, record_selection, delete_dictionary,
        type_ahead, type_, server_info, fork, close, leaks,
    )
}  # fmt: skip

#: These commands may wait for long, so a case may cancel them.
WAITING = frozenset(["lock", "permits", "with_lock", "campaign", "observe"])
