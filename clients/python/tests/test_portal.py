"""The thread that runs the event loop of clients for threads."""

import asyncio
import gc
import sys
import threading
import unittest
import weakref
from typing import Any, AsyncGenerator, Coroutine, List
from unittest import mock

from holdfast._sync.portal import Portal


class Iteration(unittest.TestCase):
    def test_an_interruption_ends_the_iteration_without_another_error(self) -> None:
        began, ended = threading.Event(), threading.Event()

        async def items() -> AsyncGenerator[int, None]:
            try:
                began.set()
                await asyncio.Event().wait()
                yield 1
            finally:
                await asyncio.sleep(0.05)
                ended.set()

        portal, run = Portal(), Portal.run
        interrupted: List[bool] = []

        def interrupt_once(self: Portal, work: Coroutine[Any, Any, Any]) -> Any:
            if interrupted:
                return run(self, work)
            interrupted.append(True)
            future = self.submit(work)
            began.wait(30)
            future.cancel()
            raise KeyboardInterrupt

        with mock.patch.object(Portal, "run", interrupt_once):
            with self.assertRaises(KeyboardInterrupt):
                next(portal.iterate(items()))
        self.assertTrue(ended.is_set())
        portal.stop()

    def test_the_garbage_collection_in_the_thread_of_the_loop_ends_an_iteration(self) -> None:
        ended = threading.Event()

        async def items() -> AsyncGenerator[int, None]:
            try:
                yield 1
                await asyncio.Event().wait()
            finally:
                ended.set()

        def begin() -> None:
            iteration = portal.iterate(items())
            next(iteration)
            cycle: List[object] = [iteration]
            cycle.append(cycle)

        async def collect() -> None:
            gc.collect()

        gc.disable()
        self.addCleanup(gc.enable)
        portal = Portal()
        with mock.patch.object(sys, "unraisablehook") as reports:
            begin()
            portal.run(collect())
            self.assertTrue(ended.wait(30))
        self.assertEqual(reports.mock_calls, [])
        portal.stop()

    def test_a_failed_iteration_is_freed_without_the_garbage_collector(self) -> None:
        class Stream:
            """Stands for the stream of an observer, which has a socket."""

        freed = threading.Event()

        async def items() -> AsyncGenerator[int, None]:
            stream = Stream()
            weakref.finalize(stream, freed.set)
            yield 1
            raise LookupError

        gc.disable()
        self.addCleanup(gc.enable)
        portal = Portal()
        # assertRaises would free the stream itself, because it clears the frames of the error.
        try:
            list(portal.iterate(items()))
        except LookupError:
            pass
        self.assertTrue(freed.wait(30))
        portal.stop()
