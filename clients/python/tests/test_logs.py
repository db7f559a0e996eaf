"""The events of the log, and their levels, are those of docs/clients/python.md."""

import logging
import unittest
from typing import List, Tuple

import grpc

from holdfast._core.acquire_intent import QueuePlace
from holdfast._core.bearer import BearerToken
from holdfast._core.durations import duration
from holdfast._core.outcome import Outcome, rejected
from holdfast.errors import Facts, error_of
from holdfast.v1.session_service_pb2 import LeaseRenewalFailed, SessionEvent

from .fakes import World

LOGGER = "holdfast.tests"


def told(records: List[logging.LogRecord]) -> List[Tuple[int, str]]:
    return [(one.levelno, one.getMessage()) for one in records]


class Logs(unittest.TestCase):
    def test_sessions_are_told_at_info_and_their_ends_at_warning(self) -> None:
        world = World()
        with self.assertLogs(LOGGER, "DEBUG") as logs:
            world.wire.start()
            world.wire.leave(5)
            world.wire.break_off(error_of("gone", Facts("", grpc.StatusCode.UNAVAILABLE)))
        self.assertEqual(
            told(logs.records),
            [
                (logging.INFO, "a session with a:1 has started"),
                (logging.INFO, "a:1 asks to leave, the next session follows"),
                (logging.WARNING, "the session with a:1 has ended: gone"),
            ],
        )

    def test_a_missing_token_is_told_at_warning(self) -> None:
        def fetch() -> Outcome[BearerToken]:
            return rejected(OSError("no file"))

        with self.assertLogs(LOGGER, "DEBUG") as logs:
            World(fetch_token=fetch)
        text = "the session with no server has ended: the client has no token: no file"
        self.assertEqual(told(logs.records), [(logging.WARNING, text)])

    def test_an_attach_is_told_at_debug_and_failures_and_losses_at_warning(self) -> None:
        world = World().started()
        lease = world.lease()
        world.wire.break_off()
        world.runtime.pass_time(5)
        world.wire.start()
        with self.assertLogs(LOGGER, "DEBUG") as logs:
            world.wire.grant(1, "id-1")
            failed = LeaseRenewalFailed(expire_offset=duration(20))
            world.wire.tell(SessionEvent(command_id=1, renewal_failed=failed))
            world.runtime.stop_process(31)
            self.assertTrue(lease.is_over)
            world.runtime.pass_time()
        self.assertEqual(
            told(logs.records)[:3],
            [
                (logging.DEBUG, 'b:1 renews the lease of "report"'),
                (logging.WARNING, 'a renewal of the lease of "report" has failed'),
                (logging.WARNING, str(lease.loss)),
            ],
        )
        self.assertNotIn("id-1", str(told(logs.records)))

    def test_a_callback_that_raises_is_told_at_error_and_close_tells_no_loss(self) -> None:
        def refuse(place: QueuePlace) -> None:
            raise ValueError(f"no place {place.position}")

        world = World().started()
        world.lease()
        world.acquire(on_queued=refuse)
        with self.assertLogs(LOGGER, "DEBUG") as logs:
            world.wire.queue(2, 7)
            world.runtime.pass_time()
            world.client.close()
            world.runtime.pass_time()
        self.assertEqual(told(logs.records), [(logging.ERROR, "a callback has raised")])
