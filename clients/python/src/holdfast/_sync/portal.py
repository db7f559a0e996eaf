"""One background thread with an event loop, for all sync clients of the process."""

import asyncio
import atexit
import concurrent.futures
import os
import threading
from typing import Any, AsyncGenerator, Callable, Coroutine, Generator, Optional, Set, TypeVar

from ..errors import ClosedError

T = TypeVar("T")

#: The longest wait for the end of the thread (seconds).
_JOIN = 2.0


class Portal:
    """Runs coroutines in the background thread, and waits for their results."""

    def __init__(self) -> None:
        self.uses = 0
        #: For each open client, the function that stops the client at the end of the process.
        self.stops: Set[Callable[[], Coroutine[Any, Any, None]]] = set()
        self._pid = os.getpid()
        # Reentrant, because a result may come at once.
        self._lock = threading.RLock()
        self._is_over = False
        #: The results for which threads wait.
        self._waited: Set[concurrent.futures.Future[Any]] = set()
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
        future = self._submit(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            # The thread has ended meanwhile.
            raise ClosedError() from None
        except BaseException:
            future.cancel()
            raise
        finally:
            # An error, its traceback with this frame, and the future would keep each other, and
            # with them a stream, until the garbage collection.
            del future

    def submit(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        """Does not wait. Raises a ClosedError after the end of the thread."""
        return self._submit(work)

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Does not wait. Without effect after the end of the thread."""
        try:
            self._submit(work)
        except (ClosedError, RuntimeError):
            pass

    def iterate(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """The items of an async generator, which ends together with this one."""

        step: Optional["asyncio.Task[Any]"] = None

        async def following() -> T:
            nonlocal step
            step = asyncio.current_task()
            try:
                return await items.__anext__()
            finally:
                # A task that has raised and this frame would keep each other too.
                step = None

        async def close() -> None:
            # Ctrl-C in the caller's thread cancels a step. A generator that still runs cannot be
            # closed.
            if step is not None:
                await asyncio.wait([step])
            await items.aclose()

        try:
            while True:
                try:
                    item = self.run(following())
                except StopAsyncIteration:
                    return
                yield item
        except GeneratorExit:
            # The garbage collection may come here in any thread and in any place, so nothing may
            # wait. In the thread of the loop asyncio itself closes the items.
            self.start(close())
            raise
        except BaseException:
            try:
                self.run(close())
            except ClosedError:
                pass  # The end of the thread has ended the generator too.
            raise

    def stop(self) -> None:
        if self.is_forked():
            return
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN)

    def _submit(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        problem: Optional[Exception] = None
        if self.is_forked():
            problem = ClosedError("the client belongs to the parent of this forked process")
        elif threading.current_thread() is self._thread:
            problem = RuntimeError("a callback of the client cannot wait for the client")
        else:
            with self._lock:
                if not self._is_over:
                    future = asyncio.run_coroutine_threadsafe(work, self._loop)
                    self._waited.add(future)
                    future.add_done_callback(self._forget)
                    return future
            problem = ClosedError()
        work.close()
        raise problem

    def _forget(self, future: "concurrent.futures.Future[Any]") -> None:
        with self._lock:
            self._waited.discard(future)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            with self._lock:
                self._is_over = True
                waited, self._waited = self._waited, set()
            # Nobody waits for ever, not even if the thread ends by a defect.
            for future in waited:
                future.cancel()
            self._loop.run_until_complete(self._end())
            self._loop.close()

    async def _end(self) -> None:
        # The clients stop before their tasks are cancelled. After a cancelled stream, a client
        # opens the next session, and the tasks of that session would outlive the loop.
        ends = [asyncio.ensure_future(stop()) for stop in list(self.stops)]
        if ends:
            await asyncio.wait(ends, timeout=_JOIN / 2)
        await _cancel_all()


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


def harmless(callback: Callable[[T], object]) -> Callable[[T], None]:
    """A callback does not end the thread of all clients, not even by SystemExit.

    The client logs every other error.
    """

    def call(value: T) -> None:
        try:
            callback(value)
        except Exception:
            raise
        except BaseException as error:
            raise RuntimeError(f"the callback has raised {error!r}") from error

    return call


async def _cancel_all() -> None:
    own = asyncio.current_task()
    tasks = [task for task in asyncio.all_tasks() if task is not own]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_JOIN / 2)


def _handle(loop: asyncio.AbstractEventLoop, context: "dict[str, Any]") -> None:
    # With several loops in a process, grpc.aio wakes all of them for each event, and the loops
    # that come late find nothing.
    if not isinstance(context.get("exception"), BlockingIOError):
        loop.default_exception_handler(context)
