"""Failures with reasons that this client does not know, or without a reason."""

import unittest

import grpc

from holdfast._core.repetition import Repetition
from holdfast.errors import Facts, error_of

from .fakes import World


class UnknownReasons(unittest.TestCase):
    def test_a_command_is_repeated_after_unavailable_with_any_reason_or_none(self) -> None:
        for reason in ("MOON_IS_FULL", ""):
            with self.subTest(reason):
                world = World().started()
                intent = world.acquire()
                world.wire.fail(1, reason, 14)
                world.runtime.pass_time(1)
                first, second = (one.acquire_lock.request_id for one in world.wire.commands)
                self.assertEqual(first, second)
                world.wire.grant(2, "id-1")
                lease = intent.outcome.value
                assert lease is not None
                answer = lease.release()
                world.runtime.pass_time()
                world.wire.fail(3, reason, 14)
                world.runtime.pass_time(1)
                world.wire.release(4)
                assert answer.value is not None
                self.assertTrue(answer.value.released)

    def test_a_command_is_not_repeated_after_an_unknown_reason_with_another_code(self) -> None:
        world = World().started()
        intent = world.acquire()
        world.wire.fail(1, "MOON_IS_FULL", 9)
        self.assertEqual(getattr(intent.outcome.error, "reason", ""), "MOON_IS_FULL")

    def test_only_a_call_whose_second_run_does_no_harm_is_repeated(self) -> None:
        for reason in ("MOON_IS_FULL", ""):
            with self.subTest(reason):
                error = error_of("?", Facts(reason, grpc.StatusCode.UNAVAILABLE))
                self.assertIsNotNone(Repetition(is_idempotent=True).pause_after(error))
                self.assertIsNone(Repetition(is_idempotent=False).pause_after(error))
        aborted = error_of("?", Facts("MOON_IS_FULL", grpc.StatusCode.ABORTED))
        self.assertIsNone(Repetition(is_idempotent=True).pause_after(aborted))
