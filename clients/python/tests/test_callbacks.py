"""Callbacks that raise."""

import asyncio
import unittest

from holdfast import LeaseLost, LossCause
from holdfast._core.acquire_intent import QueuePlace
from holdfast.aio import Lease

from .fakes import World


class Callbacks(unittest.TestCase):
    def test_a_callback_that_raises_is_logged_and_ends_nothing(self) -> None:
        def refuse(place: QueuePlace) -> None:
            raise ValueError(f"no place {place.position}")

        world = World().started()
        intent = world.acquire(on_queued=refuse)
        world.wire.queue(1, 7)
        with self.assertLogs("holdfast.tests", "ERROR") as logs:
            world.runtime.pass_time()
        self.assertIn("no place 7", logs.output[0])
        world.wire.grant(1, "id-1")
        self.assertIsNotNone(intent.outcome.value)


class AsyncCallbacks(unittest.IsolatedAsyncioTestCase):
    async def test_an_on_lost_that_raises_is_logged_by_the_client(self) -> None:
        def refuse(loss: LeaseLost) -> None:
            raise ValueError(f"no {loss.loss_cause}")

        world = World().started()
        intent = world.acquire()
        world.wire.grant(1, "id-1")
        held = intent.outcome.value
        assert held is not None
        Lease(held).on_lost(refuse)
        with self.assertLogs("holdfast.tests", "ERROR") as logs:
            held.end(LossCause.REVOKED)
            await asyncio.sleep(0)
        self.assertIn("no REVOKED", logs.output[0])
