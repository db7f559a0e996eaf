"""Grants of the older session, after the acquire was repeated in the next session."""

import unittest

from .fakes import FakeWire, World


def moved(world: World) -> FakeWire:
    """Makes the next session, and returns the wire of the older one, which still answers."""
    older = world.wire
    older.leave(0)
    world.runtime.pass_time()
    world.wire.start()
    return older


class Handover(unittest.TestCase):
    def test_believes_in_a_grant_of_the_older_session_and_attaches_in_the_next(self) -> None:
        world = World().started()
        intent = world.acquire()
        older = moved(world)
        older.grant(1, "id-1")
        lease = intent.outcome.value
        assert lease is not None
        self.assertEqual(lease.remaining(), 30)
        world.wire.grant(1, "id-1")
        older.break_off()
        for _ in range(10):
            world.runtime.pass_time(5)
            world.wire.renew(1, 30)
        self.assertIsNone(lease.cause)
        self.assertEqual(older.of_kind("release") + world.wire.of_kind("release"), [])

    def test_attaches_after_the_repetition_had_failed_before_the_grant(self) -> None:
        world = World().started()
        intent = world.acquire()
        older = moved(world)
        world.wire.fail(1, "OVERLOADED")
        older.grant(1, "id-1")
        self.assertIsNotNone(intent.outcome.value)
        world.runtime.pass_time()
        (attach,) = world.wire.of_kind("attach")
        self.assertEqual(attach.attach.lease_id, "id-1")
        self.assertEqual(len(world.wire.of_kind("acquire_lock")), 1)

    def test_releases_a_grant_of_the_older_session_after_the_wait_was_given_up(self) -> None:
        world = World().started()
        intent = world.acquire()
        older = moved(world)
        world.client.abandon(intent, TimeoutError())
        older.grant(1, "id-1")
        world.runtime.pass_time()
        (release,) = world.wire.of_kind("release")
        self.assertEqual(release.release.lease_id, "id-1")
