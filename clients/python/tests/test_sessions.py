"""Heartbeats, silence, the way from one session to the next, and what outlasts a session: acquires, releases, close."""

import unittest
from typing import List

import grpc

from holdfast._core.bearer import BearerToken
from holdfast._core.durations import duration
from holdfast._core.outcome import Outcome
from holdfast.errors import (
    ClosedError,
    CredentialError,
    Facts,
    LossCause,
    UnavailableError,
    error_of,
)
from holdfast.v1.session_service_pb2 import SessionEndCause, SessionLeaving

from .fakes import World

REFUSED = error_of("refused", Facts("BAD_CREDENTIAL", grpc.StatusCode.UNAUTHENTICATED))


class Sessions(unittest.TestCase):
    def test_the_first_message_has_start_and_heartbeat_1(self) -> None:
        world = World()
        first = world.wire.requests[0]
        self.assertEqual(first.heartbeat_id, 1)
        self.assertEqual(first.start.session_number, 1)
        self.assertEqual(first.start.holder_id, "worker")

    def test_a_short_ttl_has_earlier_heartbeats(self) -> None:
        world = World().started()
        world.lease(ttl=6)
        for _ in range(9):
            world.runtime.pass_time(0.5)
            world.wire.answer()
        self.assertEqual(world.wire.heartbeat, 5)

    def test_a_silent_server_is_left_after_a_quarter_of_the_ttl(self) -> None:
        world = World().started()
        world.lease(ttl=8)
        world.runtime.pass_time(8 / 6 + 2 - 0.01)
        self.assertEqual(len(world.wires), 1)
        world.runtime.pass_time(1)
        self.assertTrue(world.wires[0].is_destroyed)
        self.assertEqual([wire.address for wire in world.wires], ["a:1", "b:1"])

    def test_a_process_that_was_stopped_reads_before_it_judges(self) -> None:
        world = World().started()
        world.lease(ttl=60)
        world.runtime.pass_time(5)
        world.runtime.stop_process(30)
        world.runtime.pass_time()
        self.assertFalse(world.wire.is_destroyed)
        world.wire.answer()
        world.runtime.pass_time(5)
        self.assertEqual(len(world.wires), 1)

    def test_a_heartbeat_that_was_never_sent_ends_the_session_and_renews_nothing(self) -> None:
        world = World().started()
        lease = world.lease(ttl=10)
        before = lease.deadline
        world.wire.renew(1, 100, heartbeat=77)
        self.assertEqual(lease.deadline, before)
        self.assertTrue(world.wire.is_destroyed)

    def test_the_next_session_attaches_by_deadline_before_it_acquires(self) -> None:
        world = World().started()
        world.lease("late", ttl=30)
        world.lease("early", ttl=10)
        waiting = world.acquire()
        request_id = world.wire.commands[-1].acquire_lock.request_id
        world.wire.break_off()
        world.runtime.pass_time(1.1)
        world.acquire()
        kinds = [one.WhichOneof("command") for one in world.wire.commands]
        self.assertEqual(kinds, ["attach", "attach", "acquire_lock", "acquire_lock"])
        ids = [one.attach.lease_id for one in world.wire.commands[:2]]
        self.assertEqual(ids, ["early", "late"])
        self.assertEqual(world.wire.commands[2].acquire_lock.request_id, request_id)
        self.assertFalse(waiting.outcome.is_settled)

    def test_the_end_that_an_older_session_tells_does_not_count(self) -> None:
        world = World().started()
        lease = world.lease()
        world.wire.answer(leaving=SessionLeaving(retry_delay=duration(0.5)))
        world.runtime.pass_time(0.5)
        old, new = world.wires
        old.end(1, SessionEndCause.SESSION_END_CAUSE_SUPERSEDED)
        self.assertIsNone(lease.cause)
        new.start()
        new.grant(1, "id-1")
        self.assertTrue(old.is_half_closed)
        new.end(1, SessionEndCause.SESSION_END_CAUSE_SUPERSEDED)
        self.assertIs(lease.cause, LossCause.SUPERSEDED)

    def test_an_attach_that_is_not_held_is_a_loss(self) -> None:
        world = World().started()
        lease = world.lease()
        world.wire.break_off()
        world.runtime.pass_time(1.1)
        world.wire.fail(1, "LEASE_NOT_HELD", 10)
        self.assertIs(lease.cause, LossCause.LEASE_NOT_HELD)

    def test_a_credential_is_fetched_once_anew(self) -> None:
        fetched: List[BearerToken] = []

        def fetch() -> Outcome[BearerToken]:
            fetched.append(BearerToken(f"token-{len(fetched)}"))
            outcome: Outcome[BearerToken] = Outcome()
            outcome.resolve(fetched[-1])
            return outcome

        world = World(fetch_token=fetch)
        ready = world.client.ready(60)
        world.wire.break_off(REFUSED)
        world.runtime.pass_time(1)
        self.assertEqual([wire.token for wire in world.wires], ["token-0", "token-1"])
        world.wire.break_off(REFUSED)
        self.assertIsInstance(ready.error, CredentialError)
        self.assertIsInstance(world.acquire().outcome.error, CredentialError)


class Tasks(unittest.TestCase):
    def test_a_released_lease_is_never_attached_and_its_release_is_repeated(self) -> None:
        world = World().started()
        answer = world.lease().release()
        world.runtime.pass_time()
        world.wire.break_off()
        world.runtime.pass_time(1.1)
        self.assertEqual([one.release.lease_id for one in world.wire.commands], ["id-1"])
        world.wire.start()
        world.wire.release(1)
        assert answer.value is not None
        self.assertTrue(answer.value.released)

    def test_a_grant_after_the_caller_gave_up_is_released(self) -> None:
        world = World().started()
        intent = world.acquire()
        world.client.abandon(intent, ClosedError())
        world.runtime.pass_time()
        self.assertEqual(len(world.wire.of_kind("cancel")), 1)
        world.wire.grant(intent.command_id, "late")
        world.runtime.pass_time()
        self.assertEqual(world.wire.commands[-1].release.lease_id, "late")
        self.assertEqual(world.client.lease_count, 0)

    def test_a_finished_request_gets_one_new_id(self) -> None:
        world = World().started()
        intent = world.acquire(wait=10)
        world.wire.fail(1, "REQUEST_FINISHED", 9)
        world.runtime.pass_time()
        first, second = (one.acquire_lock.request_id for one in world.wire.commands)
        self.assertNotEqual(first, second)
        world.wire.fail(2, "REQUEST_FINISHED", 9)
        self.assertEqual(getattr(intent.outcome.error, "reason", ""), "REQUEST_FINISHED")

    def test_a_wait_ends_5_seconds_after_its_bound(self) -> None:
        world = World().started()
        intent = world.acquire(wait=2)
        for _ in range(8):
            world.runtime.pass_time(0.874)
            world.wire.answer()
        self.assertFalse(intent.outcome.is_settled)
        world.runtime.pass_time(0.1)
        self.assertIsInstance(intent.outcome.error, UnavailableError)

    def test_close_releases_all_and_leaves_no_timer(self) -> None:
        world = World().started()
        world.lease()
        waiting = world.acquire()
        closing = world.client.close()
        world.runtime.pass_time()
        self.assertIsInstance(waiting.outcome.error, ClosedError)
        release, cancel = world.wire.of_kind("release"), world.wire.of_kind("cancel")
        self.assertEqual((len(release), len(cancel)), (1, 1))
        world.wire.release(release[0].command_id)
        world.wire.fail(waiting.command_id, "OUTCOME_UNKNOWN")
        world.runtime.pass_time(5)
        self.assertTrue(world.wire.is_half_closed)
        world.wire.break_off()
        self.assertTrue(closing.is_settled)
        self.assertEqual(world.runtime.timer_count, 0)

    def test_close_without_answers_ends_after_5_seconds_and_leaves_no_timer(self) -> None:
        world = World().started()
        world.lease()
        closing = world.client.close()
        world.runtime.pass_time(6.1)
        self.assertTrue(closing.is_settled)
        self.assertTrue(world.wire.is_destroyed)
        self.assertEqual(world.runtime.timer_count, 0)
