"""The bounds of updates and waits."""

import unittest
from typing import List
from unittest import mock

from holdfast._core import numbers
from holdfast.errors import ClosedError, LimitReachedError, UnavailableError
from holdfast.v1.session_service_pb2 import LeaseUpdated, SessionEvent

from .fakes import World


class Bounds(unittest.TestCase):
    def test_an_update_without_an_answer_ends_after_the_time_of_a_call(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30)
        update = lease.update_metadata({"stage": "two"})
        self._pass_time(world, 9.9)
        self.assertFalse(update.is_settled)
        self._pass_time(world, 0.2)
        self.assertIsInstance(update.error, UnavailableError)
        self.assertIsNone(lease.cause)
        later = lease.update_metadata({"stage": "three"})
        world.runtime.pass_time()
        self.assertFalse(later.is_settled)
        self.assertEqual(len(world.wire.of_kind("update")), 2)

    def test_metadata_that_no_message_can_have_is_refused_and_a_later_update_is_sent(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30)
        for wrong in ("x" * 2**20, "caf\ud83d"):
            with self.assertRaises(ValueError):
                lease.update_metadata({"stage": wrong})
        lease.update_metadata({"stage": "two"})
        world.runtime.pass_time()
        self.assertEqual(len(world.wire.of_kind("update")), 1)

    def test_an_update_without_an_answer_has_the_last_reason_of_the_server(self) -> None:
        world = World().started()
        lease = world.lease(ttl=60)
        update = lease.update_metadata({"stage": "two"})
        world.runtime.pass_time()
        world.wire.fail(2, "STORE_UNAVAILABLE")
        self._pass_time(world, 10)
        self.assertEqual(getattr(update.error, "reason", ""), "STORE_UNAVAILABLE")

    def test_a_release_without_an_answer_has_the_last_reason_of_the_server(self) -> None:
        world = World().started()
        lease = world.lease(ttl=60)
        lease.release()
        world.runtime.pass_time()
        world.wire.fail(2, "OVERLOADED")
        self.assertEqual(lease.no_answer_to_release().reason, "OVERLOADED")

    def test_updates_are_sent_one_after_the_other_in_the_order_of_the_calls(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30)
        stages = ["one", "two", "three"]
        updates = [lease.update_metadata({"stage": stage}) for stage in stages]
        for count, update in enumerate(updates, 1):
            world.runtime.pass_time()
            self.assertEqual(self._stages(world), stages[:count])
            self.assertFalse(update.is_settled)
            self._updated(world, 1 + count)
            self.assertIsNone(update.error)

    def test_the_wait_for_the_turn_counts(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30)
        updates = [lease.update_metadata({"stage": str(n)}) for n in range(3)]
        self._pass_time(world, 10.1)
        for update in updates:
            self.assertIsInstance(update.error, UnavailableError)
        self.assertEqual(lease.updates, [])
        self.assertEqual(self._stages(world), ["0"])

    def test_many_updates_that_no_message_can_have_end_with_the_first_one(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30, kept={"kept": "x" * 60_000})
        first = lease.update_metadata({})
        wrong = [lease.update_metadata({"stage": "x" * 60_000}) for _ in range(3000)]
        last = lease.update_metadata({"stage": "last"})
        world.runtime.pass_time()
        self._updated(world, 2)
        self.assertIsNone(first.error)
        for update in wrong:
            self.assertIsInstance(update.error, ValueError)
        world.runtime.pass_time()
        self._updated(world, 3)
        self.assertTrue(last.is_settled)
        self.assertIsNone(last.error)

    def test_an_update_that_was_given_up_makes_room_for_the_next_one(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30)
        first, second, third = [lease.update_metadata({"stage": str(n)}) for n in range(3)]
        lease.give_up_update(second)
        lease.give_up_update(first)
        world.runtime.pass_time()
        self.assertEqual(self._stages(world), ["0", "2"])
        self._updated(world, 2)
        self.assertFalse(third.is_settled)
        self._updated(world, 3)
        self.assertIsNone(third.error)

    def test_a_value_that_the_server_has_refused_is_not_kept(self) -> None:
        world = World().started()
        lease = world.lease(ttl=30, kept={"stage": "one"})
        lease.update_metadata({"stage": "bad"})
        world.runtime.pass_time()
        world.wire.fail(2, "INVALID_FIELD", 3)
        lease.update_metadata({})
        world.runtime.pass_time()
        self.assertEqual(self._stages(world), ["bad", "one"])

    def _stages(self, world: World) -> List[str]:
        updates = world.wire.of_kind("update")
        return [one.update.metadata_update.entries["stage"] for one in updates]

    def _updated(self, world: World, command: int) -> None:
        world.wire.tell(SessionEvent(command_id=command, updated=LeaseUpdated()))

    def test_a_wait_that_the_caller_gave_up_leaves_room_for_another(self) -> None:
        with mock.patch.object(numbers, "MAX_ACQUIRES_UNANSWERED", 2):
            world = World().started()
            first, second = world.acquire(), world.acquire()
            self.assertIsInstance(world.acquire().outcome.error, LimitReachedError)
            world.client.abandon(first, ClosedError())
            third = world.acquire()
            self.assertFalse(third.outcome.is_settled)
            self.assertIsInstance(world.acquire().outcome.error, LimitReachedError)
            # The late answer to the abandoned wait makes no more room.
            world.wire.fail(first.command_id, "CONTENDED", 10)
            self.assertIsInstance(world.acquire().outcome.error, LimitReachedError)
            world.wire.grant(second.command_id, "id-2")
            self.assertFalse(world.acquire().outcome.is_settled)

    def _pass_time(self, world: World, seconds: float) -> None:
        """The server answers each heartbeat, and renews the lease."""
        for _ in range(round(seconds * 10)):
            world.runtime.pass_time(0.1)
            world.wire.renew(1, 30)
