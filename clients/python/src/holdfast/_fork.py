"""Forked children send nothing.

A channel or a call that the garbage collector of a child ends would write to the connection of
the parent. So the child never ends them.
"""

import ctypes
import os
import weakref

_kept: "weakref.WeakSet[object]" = weakref.WeakSet()


def keep(owner: object) -> None:
    """Takes a channel or a call of gRPC, and forgets it when this process ends it."""
    _kept.add(owner)


def _never_end() -> None:
    for owner in list(_kept):
        # One reference that nobody gives back, not even the end of the interpreter.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_never_end)
