"""The thread that runs the event loop of clients for threads."""

import asyncio
import threading
import unittest
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
