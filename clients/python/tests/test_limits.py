"""The warning of another limit. The semaphores have the limit 4, unless a look-up fails."""

import asyncio
import logging
import unittest
from typing import Any, List, Optional, cast

import grpc

from holdfast._core.acquire_intent import Acquire
from holdfast._core.news import News
from holdfast.aio._calls import CallChannel
from holdfast.aio._lease import Lease
from holdfast.aio._limits import SemaphoreLimits
from holdfast.errors import Facts, HoldfastError, NoSuchSemaphoreError, NotAllowedError
from holdfast.v1.semaphore_service_pb2 import GetSemaphoreRequest, GetSemaphoreResponse

FACTS = Facts("", grpc.StatusCode.UNKNOWN)


class Calls:
    def __init__(self) -> None:
        self.look_ups: List[str] = []
        self.failures: List[HoldfastError] = []
        #: The answers wait for this.
        self.gate: Optional[asyncio.Event] = None

    async def unary(
        self, method: Any, request: GetSemaphoreRequest, **_: Any
    ) -> GetSemaphoreResponse:
        self.look_ups.append(request.name)
        if self.gate is not None:
            await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        response = GetSemaphoreResponse()
        response.semaphore.limit = 4
        return response


class ToldNews(News):
    def __init__(self) -> None:
        super().__init__(logging.getLogger("holdfast.tests"))
        self.told: List[str] = []

    def other_limit(self, name: str, limit: int, expected: int) -> None:
        self.told.append(f"{name} {limit}, not {expected}")


class OtherLimits(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.calls = Calls()
        self.news = ToldNews()
        self.limits = SemaphoreLimits(cast(CallChannel, self.calls), self.news)

    async def grant(self, name: str, limit: int) -> None:
        async def granted(_: Acquire) -> Lease:
            return cast(Lease, None)

        await self.limits.acquire(Acquire("permits", name, initial_limit=limit), granted)

    async def test_each_other_limit_of_a_name_is_told_once(self) -> None:
        for limit in (9, 9, 4, 8, 4, 9, 8):
            await self.grant("gpu", limit)
            await self.limits.close()
        await self.grant("cpu", 9)
        await self.limits.close()
        self.assertEqual(self.news.told, ["gpu 4, not 9", "gpu 4, not 8", "cpu 4, not 9"])
        self.assertEqual(self.calls.look_ups, ["gpu", "gpu", "gpu", "cpu"])

    async def test_one_look_up_at_a_time_serves_all_limits_of_a_name(self) -> None:
        self.calls.gate = asyncio.Event()
        for limit in (9, 8, 4, 9):
            await self.grant("gpu", limit)
        self.calls.gate.set()
        await self.limits.close()
        self.assertEqual(self.news.told, ["gpu 4, not 9", "gpu 4, not 8"])
        self.assertEqual(self.calls.look_ups, ["gpu"])

    async def test_a_limit_is_compared_by_the_next_grant_if_the_look_up_has_failed(self) -> None:
        for failure in (HoldfastError("silence", FACTS), NoSuchSemaphoreError("none", FACTS)):
            with self.subTest(type(failure).__name__):
                self.setUp()
                self.calls.failures = [failure]
                for _ in range(3):
                    await self.grant("gpu", 9)
                    await self.limits.close()
                self.assertEqual(self.news.told, ["gpu 4, not 9"])
                self.assertEqual(len(self.calls.look_ups), 2)

    async def test_a_limit_that_the_caller_may_not_read_is_asked_for_once(self) -> None:
        self.calls.failures = [NotAllowedError("no", FACTS)]
        for limit in (9, 8, 9):
            await self.grant("gpu", limit)
            await self.limits.close()
        self.assertEqual((self.news.told, self.calls.look_ups), ([], ["gpu"]))

    async def test_ten_thousand_limits_are_remembered_and_no_further_one_is_looked_up(
        self,
    ) -> None:
        for limit in range(10_000):
            await self.grant("gpu", limit)
        await self.limits.close()
        self.assertEqual(len(self.news.told), 9_999)
        await self.grant("gpu", 10_000)
        await self.grant("cpu", 1)
        await self.limits.close()
        self.assertEqual(len(self.news.told), 9_999)
        self.assertEqual(self.calls.look_ups, ["gpu"])
