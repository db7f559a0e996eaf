"""Answers that come after their callers have gone."""

import asyncio
import gc
import unittest
from typing import Any, Dict, List
from unittest import mock

from holdfast import UnavailableError
from holdfast._core import numbers
from holdfast.aio import Lease

from .fakes import World


class ReleasesWithoutCaller(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.world = World().started()
        self.lease = Lease(self.world.lease())
        self.reports: List[Dict[str, Any]] = []

    async def _fail_the_release(self) -> None:
        """The end of the client rejects the release. asyncio reports errors at a collection."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, report: self.reports.append(report))
        self.world.client.close(0)
        self.world.runtime.pass_time(60)
        del self.lease, self.world
        await asyncio.sleep(0)
        gc.collect()

    async def test_the_error_after_a_timeout_is_no_report_of_asyncio(self) -> None:
        with mock.patch.object(numbers, "RELEASE", 0.01):
            with self.assertRaises(UnavailableError):
                await self.lease.release()
        await self._fail_the_release()
        self.assertEqual(self.reports, [])

    async def test_the_error_after_a_cancellation_is_no_report_of_asyncio(self) -> None:
        task = asyncio.create_task(self.lease.release())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        del task
        await self._fail_the_release()
        self.assertEqual(self.reports, [])
