"""What the drivers of both faces read from commands, and write as results."""

import os
import threading
import time
from typing import Any, Callable, Dict, Iterable, List, Optional

from holdfast import BearerToken, Entry, LeaseLost, Suggestion, Tls, TokenFile

Fields = Dict[str, Any]


def options(fields: Fields, **names: str) -> Fields:
    """Options by their names in the package. Those that the case leaves out are left out."""
    found = {}
    for option, name in names.items():
        if name in fields:
            is_time = name.endswith("_ms")
            found[option] = fields[name] / 1000 if is_time else fields[name]
    return found


def connect_options(fields: Fields) -> Fields:
    given = options(fields, holder_id="holder_id", metadata="metadata")
    given.update(options(fields, connect_timeout="connect_ms"))
    if "tls" in fields:
        given["tls"] = Tls(**fields["tls"])
    if "token" in fields:
        given["token"] = fields["token"]
    if "token_file" in fields:
        given["token"] = TokenFile(fields["token_file"])
    if "tokens" in fields:
        given["token"] = _tokens(fields["tokens"], fields.get("token_expires_in_ms"))
    return given


def _tokens(texts: List[Optional[str]], life_ms: Any) -> Callable[[], BearerToken]:
    left = list(texts)
    life = None if life_ms is None else life_ms / 1000

    def following() -> BearerToken:
        text = left.pop(0) if len(left) > 1 else left[0]
        if text is None:
            threading.Event().wait()
        return BearerToken(text or "", life)

    return following


def try_lock_options(fields: Fields) -> Fields:
    found = options(fields, ttl="ttl_ms", max_hold="max_hold_ms", metadata="metadata")
    if "mode" in fields:
        found["shared"] = fields["mode"] == "shared"
    return found


def lock_options(fields: Fields) -> Fields:
    return {**try_lock_options(fields), **options(fields, wait="wait_ms")}


def try_permits_options(fields: Fields) -> Fields:
    found = options(fields, ttl="ttl_ms", max_hold="max_hold_ms", metadata="metadata")
    found.update(options(fields, permits="permits", limit="limit", exact_limit="exact_limit"))
    return found


def permits_options(fields: Fields) -> Fields:
    return {**try_permits_options(fields), **options(fields, wait="wait_ms")}


def entries(fields: Fields) -> Iterable[Entry]:
    for entry in fields["entries"]:
        weight = int(entry.get("weight", 0))
        yield Entry(entry["entry_id"], entry["text"], weight=weight)


def suggestions(found: List[Suggestion]) -> Fields:
    return {"suggestions": [{"entry_id": one.id, "text": one.text} for one in found]}


def on_lost(write: Callable[[Fields], None], name: str) -> Callable[[LeaseLost], None]:
    """Writes the event of a loss. Its time counts from this call."""
    granted_at = time.monotonic()

    def tell(loss: LeaseLost) -> None:
        write(
            {
                "event": "lost",
                "lease": name,
                "cause": str(loss.loss_cause),
                "noticed_by": loss.noticed_by,
                "at_ms": round((time.monotonic() - granted_at) * 1000),
            }
        )

    return tell


def read_byte_of_child(child_work: Callable[[], bytes]) -> bytes:
    """Forks. The child runs the work, writes its byte, and ends at once."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, child_work())
        finally:
            os._exit(0)
    os.close(writing)
    byte = os.read(reading, 1)
    os.close(reading)
    os.waitpid(child, 0)
    return byte


def count_threads_and_sockets(own_prefix: str) -> Dict[str, int]:
    """Without the threads of the driver, which have this prefix."""
    names = [thread.name for thread in threading.enumerate()]
    found = {"threads": sum(not name.startswith(own_prefix) for name in names)}
    if os.path.isdir("/proc/self/fd"):
        found["sockets"] = sum(map(_is_socket, os.listdir("/proc/self/fd")))
    return found


def _is_socket(descriptor: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:")
    except OSError:
        return False
