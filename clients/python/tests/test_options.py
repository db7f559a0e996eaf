"""Options, durations and errors."""

import asyncio
import pickle
import unittest
from datetime import timedelta

import grpc

from holdfast import ContendedError, LeaseLost, LossCause, aio
from holdfast._core import numbers
from holdfast._core.acquire_intent import Acquire
from holdfast._core.durations import duration, hold_limit, seconds_of, to_seconds
from holdfast._core.server_texts import own_names
from holdfast._core.servers import Server
from holdfast._core.status import error_of_command
from holdfast._options import Tls, address_list, channel_options
from holdfast.errors import Facts
from holdfast.v1.session_service_pb2 import CommandFailed


class ServerTexts(unittest.TestCase):
    def test_they_have_the_names_of_the_options(self) -> None:
        for text, own in (
            ('"a" is held; raise wait_timeout to queue', '"a" is held; raise wait to queue'),
            ('lock "wait_timeout" is held', 'lock "wait_timeout" is held'),
            ("acquire_permits.permit_count must be at least 1", "permits must be at least 1"),
            ("acquire with initial_limit", "acquire with limit"),
            ("it has ended; acquire again with a new request_id", "it has ended; acquire again"),
            ("acquire_lock.wait_timeout must not be negative", "wait must not be negative"),
            ("start.holder_id is 600 bytes", "holder_id is 600 bytes"),
            ("update.metadata_update.entries has 40 entries", "metadata has 40 entries"),
            ("suggest.page_size is 0", "limit is 0"),
            ("match_kinds[1] is not a MatchKind", "match_kinds[1] is not a MatchKind"),
            ("recents_list is required", "recents is required"),
            ("entry_ids[3] is required", "ids[3] is required"),
            ("entry_id is required", "entry_id is required"),
            ("repeat the call with the same request_id to keep on", "call again to keep on"),
            ("another permit_count; use a new request_id", "another permits; call again"),
            ("repeat the call with request_id 0f-1a", "repeat the call"),
            ("repeat the call with the same lease_id", "repeat the call"),
            ("continue at another server with request_id 7", "continue at another server"),
            ("open a second session with another client_id", "use a second client"),
            ('lock "a with request_id 7" is held', 'lock "a with request_id 7" is held'),
            ("the ttl has passed, and the limit is 3", "the ttl has passed, and the limit is 3"),
        ):
            with self.subTest(text):
                self.assertEqual(own_names(text), own)

    def test_the_fields_of_violations_stay_those_of_the_contract(self) -> None:
        field = "acquire_lock.wait_timeout"
        failed = CommandFailed(code=3, reason_text="INVALID_FIELD", message=f"{field} is wrong")
        failed.violations.add(field=field, description=f"{field} is wrong")
        error = error_of_command(failed)
        self.assertEqual(str(error), "wait is wrong")
        self.assertEqual(error.violations[0].field, field)
        self.assertEqual(error.violations[0].description, "wait is wrong")


class Options(unittest.TestCase):
    def test_a_demanded_limit_must_be_given(self) -> None:
        async def test() -> None:
            hf = aio.Holdfast.__new__(aio.Holdfast)
            with self.assertRaisesRegex(ValueError, "^exact_limit needs limit"):
                hf.permits("gpu", exact_limit=True)

        asyncio.run(test())

    def test_times_are_seconds_or_a_timedelta(self) -> None:
        self.assertEqual(to_seconds(timedelta(minutes=5), "wait"), 300)
        self.assertEqual(to_seconds(0.5, "wait"), 0.5)
        for wrong in (-1, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "^wait must be"):
                to_seconds(wrong, "wait")
        with self.assertRaisesRegex(TypeError, "^wait must be"):
            to_seconds("5m", "wait")  # type: ignore[arg-type]

    def test_a_short_wait_does_not_become_zero(self) -> None:
        self.assertEqual(duration(1e-9).nanos, 1)
        self.assertAlmostEqual(seconds_of(duration(-1.25)), -1.25)

    def test_a_longest_hold_is_greater_than_zero(self) -> None:
        self.assertIsNone(hold_limit(None))
        self.assertEqual(hold_limit(0.5), 0.5)
        for wrong in (0, -1, timedelta(0)):
            with self.assertRaisesRegex(ValueError, "^max_hold must be"):
                hold_limit(wrong)

    def test_a_text_that_no_message_can_have_is_refused(self) -> None:
        # A message with such a text would end each session, and the renewals of all leases.
        for wrong in ("x" * 2**20, "caf\ud83d"):
            for refused in (
                lambda: Acquire(kind="lock", name=wrong),
                lambda: Acquire(kind="lock", name="report", metadata={"job": wrong}),
                lambda: Acquire(kind="lock", name="report", metadata={wrong: "nightly"}),
                lambda: aio.connect("127.0.0.1:1", holder_id=wrong),
                lambda: aio.connect("127.0.0.1:1", metadata={"job": wrong}),
            ):
                with self.assertRaises(ValueError):
                    refused()
        with self.assertRaisesRegex(TypeError, "^name must be a str"):
            Acquire(kind="lock", name=None)  # type: ignore[arg-type]
        self.assertEqual(Acquire(kind="lock", name="Zürich 東京 😀").name, "Zürich 東京 😀")

    def test_addresses_need_a_port(self) -> None:
        self.assertEqual(address_list("a:1, b:2"), ["a:1", "b:2"])
        for wrong in ([], "a", ["a:1", "b"]):
            with self.assertRaises(ValueError):
                address_list(wrong)

    def test_a_connection_has_seconds_to_open(self) -> None:
        # gRPC ends each attempt to connect after this time, whatever its name says.
        options = dict(channel_options(Server("a:1"), Tls(server_name="server")))
        longest = options.get("grpc.min_reconnect_backoff_ms", 20_000)
        self.assertGreaterEqual(int(longest), numbers.FIRST_ANSWER * 1000)
        self.assertEqual(options["grpc.use_local_subchannel_pool"], 1)

    def test_errors_cross_processes(self) -> None:
        facts = Facts("CONTENDED", grpc.StatusCode.ABORTED, {"holder_id": "worker-7"})
        contended = pickle.loads(pickle.dumps(ContendedError("held", facts)))
        self.assertEqual((str(contended), contended.holder_id), ("held", "worker-7"))
        lost = pickle.loads(pickle.dumps(LeaseLost("report", LossCause.REVOKED)))
        self.assertEqual((lost.resource, lost.noticed_by), ("report", "server"))
