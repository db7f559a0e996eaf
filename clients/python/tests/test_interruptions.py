"""An interruption of a thread, such as Ctrl-C, at the moments between two waits."""

import time
import unittest
from typing import Any
from unittest import mock

import holdfast
from holdfast._sync.lease import Lease
from holdfast._sync.portal import Portal

from .fake_server import ServerCase


class Interruptions(ServerCase):
    def setUp(self) -> None:
        self.hf = holdfast.connect(self.address)
        self.addCleanup(self.hf.close)

    def test_after_the_start_of_an_acquire(self) -> None:
        submit = Portal._submit

        def interrupted(portal: Portal, work: Any) -> Any:
            patch.stop()
            submit(portal, work)
            raise KeyboardInterrupt

        patch = mock.patch.object(Portal, "_submit", interrupted)
        patch.start()
        with self.assertRaises(KeyboardInterrupt):
            self.hf.lock("report", ttl=60).acquire()
        self._assert_nothing_is_held()

    def test_between_the_grant_and_the_block(self) -> None:
        with mock.patch.object(Lease, "__enter__", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                with self.hf.lock("report", ttl=60):
                    self.fail("the block has begun")
        self._assert_nothing_is_held()

    def test_between_the_block_and_the_release(self) -> None:
        def interrupted(_: Portal, work: Any) -> Any:
            patch.stop()
            work.close()
            raise KeyboardInterrupt

        patch = mock.patch.object(Portal, "run", interrupted)
        with self.assertRaises(KeyboardInterrupt):
            with self.hf.lock("report", ttl=60):
                patch.start()
        self._assert_nothing_is_held()

    def _assert_nothing_is_held(self) -> None:
        # The session answers in order, so the interrupted acquire has its answer too.
        self.hf.lock("other", ttl=60).acquire().release()
        until = time.monotonic() + 30
        while self.hf.lease_count > 0 and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(self.hf.lease_count, 0)
