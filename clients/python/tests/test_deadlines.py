"""How long the process believes in a lease."""

import unittest
from typing import List

from holdfast.errors import LeaseLost, LossCause
from holdfast.v1.session_service_pb2 import SessionEndCause

from .fakes import World


class Deadlines(unittest.TestCase):
    def test_an_offset_counts_from_the_heartbeat_that_the_response_names(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30)
        world.runtime.pass_time(12)
        self.assertEqual(world.wire.heartbeat, 3)
        world.wire.answer(2)
        world.wire.renew(1, 29.5, heartbeat=2)
        self.assertAlmostEqual(lease.deadline, 1005 + 29.5)
        self.assertAlmostEqual(lease.remaining(), 1005 + 29.5 - 1012)

    def test_the_ttl_from_the_receipt_bounds_a_too_great_offset(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30)
        world.runtime.pass_time(4)
        world.wire.renew(1, 500)
        self.assertAlmostEqual(lease.deadline, 1004 + 30)

    def test_a_deadline_that_has_passed_stays_passed_without_any_timer(self) -> None:
        world = World().started()
        lease = world.lease(ttl=2)
        world.runtime.stop_process(2)
        world.wire.renew(1, 30)
        self.assertIs(lease.cause, LossCause.DEADLINE)

    def test_a_loss_at_the_deadline_is_told_once_and_released_by_id(self) -> None:
        world = World().started()
        told: List[LeaseLost] = []
        world.lease(ttl=2).listen(told.append)
        world.runtime.pass_time(0.4)
        world.wire.answer()
        world.runtime.pass_time(10)
        self.assertEqual([loss.loss_cause for loss in told], [LossCause.DEADLINE])
        releases = [one for wire in world.wires for one in wire.of_kind("release")]
        self.assertEqual({one.release.lease_id for one in releases}, {"id-1"})

    def test_max_hold_ends_the_belief_and_the_release_waits_for_the_deadline(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30, max_hold=3)
        world.runtime.pass_time(3)
        self.assertIs(lease.cause, LossCause.MAX_HOLD)
        self.assertEqual(world.wire.of_kind("release"), [])
        lease.release()
        world.runtime.pass_time()
        self.assertEqual(len(world.wire.of_kind("release")), 1)

    def test_an_unknown_end_is_a_loss(self) -> None:
        world = World().started()
        lease = world.lease()
        world.wire.end(1, 99)
        self.assertIs(lease.cause, LossCause.UNRECOGNIZED)

    def test_only_the_first_cause_counts(self) -> None:
        world = World().started()
        lease = world.lease()
        world.wire.end(1, SessionEndCause.SESSION_END_CAUSE_REVOKED)
        world.runtime.pass_time(60)
        self.assertIs(lease.cause, LossCause.REVOKED)

    def test_the_lease_id_is_in_no_text(self) -> None:
        world = World().started()
        lease = world.lease(lease_id="secret")
        world.wire.end(1, SessionEndCause.SESSION_END_CAUSE_REVOKED)
        loss = lease.loss
        assert isinstance(loss, LeaseLost)
        self.assertNotIn("secret", f"{lease!r} {loss} {loss!r} {loss.metadata}")

    def test_in_a_forked_child_the_lease_is_lost_and_nothing_is_written(self) -> None:
        world = World().started()
        lease = world.lease()
        count = len(world.wire.requests)
        world.runtime.is_child = True
        self.assertIs(lease.cause, LossCause.FORKED)
        world.runtime.pass_time(60)
        self.assertEqual(len(world.wire.requests), count)
        self.assertFalse(world.wire.is_destroyed)
