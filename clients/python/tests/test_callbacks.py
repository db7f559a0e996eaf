"""Callbacks that raise."""

import unittest

from holdfast._core.acquire_intent import QueuePlace

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
