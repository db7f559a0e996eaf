"""Servers that refuse the session, before and after the first one."""

import unittest

import grpc

from holdfast._core.bearer import BearerToken
from holdfast._core.outcome import Outcome, rejected
from holdfast.errors import CredentialError, Facts, HoldfastError, NotAllowedError, error_of

from .fakes import World

TOO_OLD = error_of("not found", Facts("", grpc.StatusCode.UNIMPLEMENTED))
NOT_ALLOWED = error_of("not allowed", Facts("NOT_ALLOWED", grpc.StatusCode.PERMISSION_DENIED))
FORBIDDEN = error_of("403", Facts("", grpc.StatusCode.PERMISSION_DENIED))
NO_REASON = error_of("who are you", Facts("", grpc.StatusCode.UNAUTHENTICATED))


class BeforeTheFirstSession(unittest.TestCase):
    def test_a_server_without_the_service_is_final_after_all_servers(self) -> None:
        world = World("a:1", "b:1")
        ready = world.client.ready(60)
        world.wire.break_off(TOO_OLD)
        self.assertFalse(ready.is_settled)
        world.runtime.pass_time(5)
        self.assertEqual(len(world.wires), 2)
        world.wire.break_off(TOO_OLD)
        self.assertIs(ready.error, TOO_OLD)

    def test_not_allowed_is_final_at_once(self) -> None:
        for refusal in (NOT_ALLOWED, FORBIDDEN):
            with self.subTest(refusal.reason):
                world = World()
                ready = world.client.ready(60)
                world.wire.break_off(refusal)
                self.assertIsInstance(ready.error, NotAllowedError)
                self.assertIsInstance(world.acquire().outcome.error, NotAllowedError)

    def test_a_refused_credential_without_a_reason_is_final_at_the_second_time(self) -> None:
        world = World()
        ready = world.client.ready(60)
        world.wire.break_off(NO_REASON)
        self.assertFalse(ready.is_settled)
        world.runtime.pass_time(5)
        world.wire.break_off(NO_REASON)
        self.assertIsInstance(ready.error, CredentialError)

    def test_a_token_that_never_comes_is_a_credential_error(self) -> None:
        missing = error_of("no token", Facts("NO_CREDENTIAL", grpc.StatusCode.UNAUTHENTICATED))

        def fetch() -> Outcome[BearerToken]:
            return rejected(missing)

        world = World(fetch_token=fetch)
        ready = world.client.ready(2)
        world.runtime.pass_time(2)
        self.assertIs(ready.error, missing)
        self.assertEqual(world.wires, [])


class AfterTheFirstSession(unittest.TestCase):
    def test_refusals_end_neither_a_lease_nor_a_wait(self) -> None:
        for refusal in (TOO_OLD, NOT_ALLOWED, FORBIDDEN, NO_REASON):
            with self.subTest(str(refusal)):
                self._refuse(refusal)

    def _refuse(self, refusal: HoldfastError) -> None:
        world = World("a:1", "b:1").started()
        lease = world.lease(ttl=60)
        waiting = world.acquire()
        for _ in range(5):
            world.wire.break_off(refusal)
            world.runtime.pass_time(5)
        addresses = [wire.address for wire in world.wires]
        self.assertEqual(addresses, ["a:1", "b:1"] * 3)
        world.wire.start()
        world.wire.grant(1, "id-1", 60, 60)
        world.wire.grant(2, "id-2", 60, 60)
        self.assertIsNone(lease.cause)
        self.assertIsNotNone(waiting.outcome.value)
