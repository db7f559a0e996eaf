"""The pauses before the next session and before the next attach."""

import unittest
from typing import Optional

import grpc

from holdfast._core import numbers, pauses
from holdfast.errors import Facts, error_of

from .fakes import World


class Pauses(unittest.TestCase):
    def test_the_next_session_waits_for_the_advice_of_the_server(self) -> None:
        for reason in ("QUOTA_EXCEEDED", "OVERLOADED", "DRAINING"):
            with self.subTest(reason):
                self.assertAlmostEqual(self._pause(reason, advised=3), 3)

    def test_the_advice_is_bounded_by_the_longest_backoff(self) -> None:
        self.assertAlmostEqual(self._pause("OVERLOADED", advised=60), numbers.LONGEST_BACKOFF)

    def test_the_advice_leaves_half_of_the_time_to_the_earliest_deadline(self) -> None:
        self.assertAlmostEqual(self._pause("OVERLOADED", advised=60, ttl=8), 4)

    def test_an_attach_is_repeated_before_half_of_the_time_to_the_deadline(self) -> None:
        world = World().started()
        lease = world.lease(ttl=4)
        world.wire.break_off()
        world.runtime.pass_time(0.4)
        world.wire.start()
        failed_at, left = world.runtime.now(), lease.remaining()
        world.wire.fail(1, "QUARANTINED", retry=5)
        while len(world.wire.of_kind("attach")) == 1 and not lease.is_over:
            world.runtime.pass_time(0.01)
            world.wire.answer()
        self.assertIsNone(lease.cause)
        self.assertAlmostEqual(world.runtime.now() - failed_at, left / 2, delta=0.05)

    def test_no_pause_is_shorter_than_the_shortest(self) -> None:
        self.assertEqual(pauses.before_attach(1, 5, -1), numbers.SHORTEST_PAUSE)
        self.assertEqual(pauses.before_session(0, -1, 5), numbers.SHORTEST_PAUSE)

    def _pause(self, reason: str, advised: float, ttl: Optional[float] = None) -> float:
        """The pause after the end of a session."""
        world = World().started()
        if ttl is not None:
            world.lease(ttl=ttl)
        facts = Facts(reason, grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after=advised)
        ended_at = world.runtime.now()
        world.wire.break_off(error_of("ended", facts))
        while len(world.wires) == 1:
            world.runtime.pass_time(0.001)
        return round(world.runtime.now() - ended_at, 2)
