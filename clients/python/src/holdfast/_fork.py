"""Forked children send nothing.

A channel or a call that the garbage collector of a child ends would write to the connection of
the parent. So the child never ends them. gRPC's own handlers would start its threads anew in the
child, where they read from the connections of the parent, and crash. So they are off, and a child
of a process that has connected cannot connect itself.
"""

import ctypes
import os
import weakref
from contextlib import contextmanager
from typing import Iterator

_HANDLERS = "GRPC_ENABLE_FORK_SUPPORT"

_kept: "weakref.WeakSet[object]" = weakref.WeakSet()
_has_connected = False
_is_cut_off = False


def keep(owner: object) -> None:
    """Takes a channel or a call of gRPC, and forgets it when this process ends it."""
    global _has_connected
    _has_connected = True
    _kept.add(owner)


def is_cut_off() -> bool:
    """Whether the threads of gRPC have stayed in the parent, so that no connection opens here."""
    return _is_cut_off


@contextmanager
def without_handlers() -> Iterator[None]:
    """For the first import of gRPC, which reads its settings then.

    A setting of the user is left alone. Without effect if gRPC was imported before.
    """
    if _HANDLERS in os.environ:
        yield
        return
    os.environ[_HANDLERS] = "0"
    try:
        yield
    finally:
        del os.environ[_HANDLERS]


def _cut_off() -> None:
    global _is_cut_off
    _is_cut_off = _has_connected
    for owner in list(_kept):
        # One reference that nobody gives back, not even the end of the interpreter.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_cut_off)
