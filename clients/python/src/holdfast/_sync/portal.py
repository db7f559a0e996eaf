"""One background thread with an event loop, for all sync clients of the process."""

import asyncio
import atexit
import os
import threading
from typing import Any, AsyncGenerator, Coroutine, Generator, Optional, TypeVar

from ..errors import ClosedError

T = TypeVar("T")

#: The longest wait for the end of the thread (seconds).
_JOIN = 2.0


class Portal:
    """Runs coroutines in the background thread, and waits for their results."""

    def __init__(self) -> None:
        self.uses = 0
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_handle)
        # A process that just ends leaves its leases to their ttl.
        self._thread = threading.Thread(target=self._run, name="holdfast", daemon=True)
        self._thread.start()

    def is_forked(self) -> bool:
        """Threads do not exist in a forked child."""
        return os.getpid() != self._pid

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Blocks the calling thread. An interruption, such as Ctrl-C, cancels the coroutine."""
        problem = self._problem()
        if problem is not None:
            work.close()
            raise problem
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Does not wait. Without effect after the end of the thread."""
        if self._problem() is None:
            asyncio.run_coroutine_threadsafe(work, self._loop)
        else:
            work.close()

    def iterate(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """The items of an async generator, which ends together with this one."""

        async def following() -> T:
            return await items.__anext__()

        try:
            while True:
                try:
                    item = self.run(following())
                except StopAsyncIteration:
                    return
                yield item
        finally:
            if self._problem() is None:
                self.run(_close(items))

    def stop(self) -> None:
        if self.is_forked() or self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN)

    def _problem(self) -> Optional[Exception]:
        if self.is_forked():
            return ClosedError("the client belongs to the parent of this forked process")
        if self._loop.is_closed() or not self._thread.is_alive():
            return ClosedError()
        if threading.current_thread() is self._thread:
            return RuntimeError("a callback of the client cannot wait for the client")
        return None

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()


class _Portals:
    """The portal of this process, while a client uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: Optional[Portal] = None

    def take(self) -> Portal:
        with self._lock:
            if self._portal is None or self._portal.is_forked():
                self._portal = Portal()
            self._portal.uses += 1
            return self._portal

    def give_back(self, portal: Portal) -> None:
        """Stops the thread after the last client."""
        with self._lock:
            portal.uses -= 1
            if portal.uses > 0 or portal.is_forked():
                return
            if self._portal is portal:
                self._portal = None
        portal.stop()

    def stop(self) -> None:
        portal = self._portal
        if portal is not None:
            portal.stop()

    def forget_lock(self) -> None:
        """Another thread of the parent may have held the lock at the fork."""
        self._lock = threading.Lock()


portals = _Portals()
# The interpreter ends badly while a thread of gRPC's loop runs.
atexit.register(portals.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=portals.forget_lock)


async def _close(items: AsyncGenerator[Any, None]) -> None:
    await items.aclose()


def _handle(loop: asyncio.AbstractEventLoop, context: "dict[str, Any]") -> None:
    # With several loops in a process, grpc.aio wakes all of them for each event, and the loops
    # that come late find nothing.
    if not isinstance(context.get("exception"), BlockingIOError):
        loop.default_exception_handler(context)
