"""Losses by a close or by others, abandoned waits, refusals, and loggers that raise."""

import logging
import unittest
from typing import List

import grpc

from holdfast._core.bearer import BearerToken
from holdfast._core.outcome import Outcome
from holdfast.errors import ClosedError, Facts, LeaseLost, LossCause, UnavailableError, error_of
from holdfast.v1.session_service_pb2 import SessionEndCause

from .fakes import World

REFUSED = error_of("refused", Facts("BAD_CREDENTIAL", grpc.StatusCode.UNAUTHENTICATED))


class Losses(unittest.TestCase):
    def test_a_release_that_this_process_did_not_ask_for_is_a_loss(self) -> None:
        world = World().started()
        lease = world.lease()
        world.wire.end(1, SessionEndCause.SESSION_END_CAUSE_RELEASED)
        loss = lease.loss
        assert loss is not None
        self.assertEqual((loss.loss_cause, loss.noticed_by), (LossCause.RELEASED, "server"))

    def test_an_own_release_is_no_loss(self) -> None:
        world = World().started()
        lease = world.lease()
        lease.release()
        self.assertIs(lease.cause, LossCause.RELEASED)
        self.assertIsNone(lease.loss)

    def test_a_close_is_a_loss_and_releases_after_the_end_of_the_block(self) -> None:
        world = World().started()
        told: List[LeaseLost] = []
        lease = world.lease()
        lease.listen(told.append)
        lease.begin_block()
        world.client.close()
        self.assertEqual([loss.loss_cause for loss in told], [LossCause.CLOSED])
        self.assertEqual(told[0].noticed_by, "client")
        world.runtime.pass_time(2)
        self.assertEqual(world.wire.of_kind("release"), [])
        lease.release()
        world.runtime.pass_time()
        self.assertEqual(len(world.wire.of_kind("release")), 1)

    def test_a_close_leaves_the_lease_of_a_block_that_goes_on_to_its_ttl(self) -> None:
        world = World().started()
        world.lease().begin_block()
        closing = world.client.close()
        world.runtime.pass_time(4.9)
        self.assertFalse(closing.is_settled)
        world.runtime.pass_time(3)
        self.assertTrue(closing.is_settled)
        self.assertEqual(world.wire.of_kind("release"), [])
        self.assertEqual(world.runtime.timer_count, 0)

    def test_a_close_does_not_wait_for_the_block_of_a_lease_that_is_lost(self) -> None:
        for max_hold in (None, 1.0):
            with self.subTest(max_hold):
                world = World().started()
                lease = world.lease(max_hold=max_hold)
                lease.begin_block()
                if max_hold is None:
                    world.wire.end(1, SessionEndCause.SESSION_END_CAUSE_REVOKED)
                world.runtime.pass_time(1.0)
                self.assertIsNotNone(lease.loss)
                closing = world.client.close()
                self.assertTrue(world.wire.is_half_closed)
                world.wire.break_off()
                self.assertTrue(closing.is_settled)
                self.assertEqual(world.runtime.timer_count, 0)

    def test_no_block_begins_after_the_end_of_the_lease(self) -> None:
        world = World().started()
        lease = world.lease()
        lease.release()
        with self.assertRaises(LeaseLost):
            lease.begin_block()
        self.assertFalse(lease.has_block)


class Retries(unittest.TestCase):
    def test_a_failed_attach_is_repeated_with_growing_pauses(self) -> None:
        world = World().started()
        lease = world.lease(ttl=60)
        world.wire.break_off()
        world.runtime.pass_time(1.1)
        world.wire.start()
        answered = 0
        for _ in range(600):
            attaches = world.wire.of_kind("attach")
            if len(attaches) > answered:
                answered = len(attaches)
                world.wire.fail(attaches[-1].command_id, "STORE_UNAVAILABLE")
            world.runtime.pass_time(0.02)
        self.assertIn(answered, range(2, 40))
        self.assertIsNone(lease.cause)

    def test_a_wait_without_an_answer_has_the_last_reason_of_the_server(self) -> None:
        world = World().started()
        intent = world.acquire(wait=0)
        world.wire.fail(1, "QUARANTINED")
        world.runtime.pass_time(6)
        error = intent.outcome.error
        assert isinstance(error, UnavailableError)
        self.assertEqual(error.reason, "QUARANTINED")

    def test_an_abandoned_wait_is_forgotten_although_no_server_answers(self) -> None:
        world = World().started()
        intent = world.acquire(ttl=30)
        world.client.abandon(intent, ClosedError())
        world.runtime.pass_time(31)
        world.wire.break_off()
        world.runtime.pass_time(6)
        self.assertEqual(len(world.wires[0].of_kind("acquire_lock")), 1)
        self.assertEqual(world.wire.of_kind("acquire_lock"), [])

    def test_a_credential_refused_after_a_first_session_is_fetched_again(self) -> None:
        fetched: List[int] = []

        def fetch() -> Outcome[BearerToken]:
            fetched.append(1)
            outcome: Outcome[BearerToken] = Outcome()
            outcome.resolve(BearerToken(f"token-{len(fetched)}"))
            return outcome

        world = World(fetch_token=fetch).started()
        lease = world.lease(ttl=60)
        for _ in range(4):
            world.wire.break_off(REFUSED)
            world.runtime.pass_time(5)
        self.assertEqual(len(fetched), 5)
        world.wire.start()
        world.wire.grant(1, "id-1", 60, 60)
        self.assertIsNone(lease.cause)

    def test_a_token_that_has_ended_opens_one_session_a_second(self) -> None:
        def fetch() -> Outcome[BearerToken]:
            outcome: Outcome[BearerToken] = Outcome()
            outcome.resolve(BearerToken("old", 0.0))
            return outcome

        world = World(fetch_token=fetch).started()
        world.runtime.pass_time(2.5)
        self.assertEqual(len(world.wires), 3)

    def test_close_opens_no_further_session(self) -> None:
        world = World().started()
        world.wire.leave(0.5)
        world.client.close()
        world.runtime.pass_time(3)
        self.assertEqual(len(world.wires), 1)

    def test_a_logger_that_raises_ends_no_session(self) -> None:
        def refuse(_: logging.LogRecord) -> bool:
            raise OSError("the disk is full")

        logger = logging.getLogger("holdfast.tests")
        logger.addFilter(refuse)
        self.addCleanup(logger.removeFilter, refuse)
        world = World().started()
        lease = world.lease()
        world.wire.break_off()
        world.runtime.pass_time(1.1)
        world.wire.start()
        world.wire.grant(1, "id-1")
        self.assertIsNone(lease.cause)
