"""Blocks under a lease in both faces, over real streams."""

import asyncio
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from typing import Any
from unittest import mock

import holdfast
from holdfast import ClosedError, LeaseLost, LossCause, aio
from holdfast._sync.portal import Portal
from holdfast.aio._calls import CallChannel

from .fake_server import ServerCase


class Asyncio(ServerCase):
    def test_a_loss_cancels_the_block_and_surfaces_as_lease_lost(self) -> None:
        async def test() -> None:
            async with aio.connect(self.address) as hf:
                with self.assertRaises(LeaseLost) as caught:
                    async with hf.lock("revoked", ttl=60):
                        await asyncio.sleep(60)
                self.assertIs(caught.exception.loss_cause, LossCause.REVOKED)
                self.assertIsInstance(caught.exception.__cause__, asyncio.CancelledError)
                # The cancellation is spent.
                await asyncio.sleep(0)

        asyncio.run(test())

    def test_the_error_of_the_block_is_the_cause_of_the_loss(self) -> None:
        async def test() -> None:
            async with aio.connect(self.address) as hf:
                with self.assertRaises(LeaseLost) as caught:
                    async with hf.lock("revoked", ttl=60):
                        try:
                            await asyncio.sleep(60)
                        except asyncio.CancelledError:
                            raise ValueError("own") from None
                self.assertEqual(str(caught.exception.__cause__), "own")

        asyncio.run(test())

    def test_the_callers_cancellation_releases_and_goes_on(self) -> None:
        async def test() -> None:
            async with aio.connect(self.address) as hf:
                begun = asyncio.Event()

                async def work() -> None:
                    async with hf.lock("report", ttl=60):
                        begun.set()
                        await asyncio.sleep(60)

                task = asyncio.create_task(work())
                await begun.wait()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual(hf.lease_count, 0)

        asyncio.run(test())

    def test_an_error_of_the_block_alone_is_not_changed(self) -> None:
        async def test() -> None:
            async with aio.connect(self.address) as hf:
                with self.assertRaises(ValueError):
                    async with hf.lock("report", ttl=60):
                        raise ValueError("own")
                self.assertEqual(hf.lease_count, 0)

        asyncio.run(test())

    def test_a_close_in_a_block_is_a_loss_of_the_block(self) -> None:
        async def test() -> None:
            async with aio.connect(self.address) as hf:
                with self.assertRaises(LeaseLost) as caught:
                    async with hf.lock("report", ttl=60):
                        await hf.close()
                self.assertIs(caught.exception.loss_cause, LossCause.CLOSED)

        asyncio.run(test())

    def test_a_handle_that_nobody_has_any_more_is_told(self) -> None:
        async def test() -> None:
            logger = logging.getLogger("test.forgotten")
            with self.assertLogs(logger) as told:
                async with aio.connect(self.address, logger=logger) as hf:
                    await hf.lock("forgotten", ttl=60)
                    lease = await hf.lock("released", ttl=60)
                    await lease.release()
                    del lease
                    async with hf.lock("block", ttl=60):
                        pass
                    gc.collect()
                    await asyncio.sleep(0.1)
                    self.assertEqual(hf.lease_count, 1)
            lines = [line for line in told.output if "was forgotten" in line]
            self.assertEqual(len(lines), 1)
            self.assertIn('the lease of "forgotten" was forgotten without a release', lines[0])

        asyncio.run(test())

    def test_close_leaves_no_task(self) -> None:
        async def test() -> None:
            async with aio.connect(self.address) as hf:
                await hf.lock("report", ttl=60)
            self.assertEqual(len(asyncio.all_tasks()), 1)

        asyncio.run(test())

    def test_a_cancelled_close_ends_the_calls_too(self) -> None:
        async def test() -> None:
            async with aio.connect(self.address) as hf:
                outcomes: "list[object]" = []
                with self.assertRaises(LeaseLost):
                    async with hf.lock("report", ttl=60):
                        # The close waits for the end of this block.
                        close = asyncio.create_task(hf.close())
                        try:
                            await asyncio.sleep(60)
                        except asyncio.CancelledError:
                            close.cancel()
                            info = hf.server_info()
                            outcomes += await asyncio.gather(close, info, return_exceptions=True)
                            raise
                closed, answered = outcomes
                self.assertIsInstance(closed, asyncio.CancelledError)
                self.assertIsInstance(answered, ClosedError)

        asyncio.run(test())

    def test_a_type_ahead_closes_while_its_stream_fails(self) -> None:
        async def test() -> None:
            begun = asyncio.Event()

            async def fail(*_: object) -> None:
                begun.set()
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    raise ClosedError("the stream has failed") from None

            async with aio.connect(self.address) as hf:
                with mock.patch.object(aio.TypeAhead, "_stream", fail):
                    field = hf.dictionary("fruit").type_ahead()
                    query = asyncio.create_task(field.type("a"))
                    await begun.wait()
                    await asyncio.wait_for(field.close(), 30)
                with self.assertRaises(ClosedError):
                    await query

        asyncio.run(test())


    def test_a_task_that_outlived_a_cancellation_leaves_a_silent_server(self) -> None:
        async def test() -> None:
            left = asyncio.Event()

            async def work(hf: aio.Holdfast) -> None:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    pass
                async for _ in hf.election("silent").observe():
                    pass

            async with aio.connect(self.address) as hf:
                with mock.patch("holdfast.aio._watch.FIRST_MESSAGE", 0.05):
                    with mock.patch.object(CallChannel, "failed", lambda *_: left.set()):
                        task = asyncio.create_task(work(hf))
                        await asyncio.sleep(0)
                        task.cancel()
                        leaving = asyncio.create_task(left.wait())
                        await asyncio.wait([task, leaving], return_when=asyncio.FIRST_COMPLETED)
                self.assertTrue(left.is_set())
                self.assertFalse(task.done())
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task

        asyncio.run(test())

    def test_a_cancelled_update_makes_room_for_the_next_one(self) -> None:
        async def test() -> None:
            async with aio.connect(self.address) as hf:
                lease = await hf.lock("report", ttl=60)
                silent = [
                    asyncio.create_task(lease.update_metadata({"stage": "silent"}))
                    for _ in range(2)
                ]
                await asyncio.sleep(0)
                for task in silent:
                    task.cancel()
                await asyncio.wait(silent)
                await lease.update_metadata({"stage": "two"})

        asyncio.run(test())


class Threads(ServerCase):
    def test_check_and_the_end_of_the_block_raise_after_a_loss(self) -> None:
        with holdfast.connect(self.address) as hf:
            lost = threading.Event()
            with self.assertRaises(LeaseLost) as caught:
                with hf.lock("revoked", ttl=60) as lease:
                    lease.on_lost(lambda _: lost.set())
                    self.assertTrue(lost.wait(30))
                    with self.assertRaises(LeaseLost):
                        lease.check()
                    raise ValueError("own")
            self.assertEqual(str(caught.exception.__cause__), "own")
            with self.assertRaises(LeaseLost):
                with hf.lock("revoked", ttl=60) as lease:
                    while lease.is_valid:
                        time.sleep(0.01)

    def test_an_import_gets_the_answer_of_the_server(self) -> None:
        with holdfast.connect(self.address) as hf:
            # This server has no dictionaries.
            with self.assertRaises(holdfast.HoldfastError):
                hf.dictionary("fruit").import_entries([holdfast.Entry("a", "apple")])

    def test_a_wait_ends_with_the_loss_or_the_release_of_the_lease(self) -> None:
        with holdfast.connect(self.address) as hf:
            self.assertTrue(hf.lock("revoked", ttl=60).acquire().wait_lost(30))
            lease = hf.lock("report", ttl=60).acquire()
            self.assertFalse(lease.wait_lost(0.01))
            release = threading.Timer(0.1, lease.release)
            release.start()
            self.assertFalse(lease.wait_lost())
            release.join()

    def test_a_wait_for_the_loss_runs_signal_handlers_that_use_the_lease(self) -> None:
        with holdfast.connect(self.address) as hf:
            lease = hf.lock("report", ttl=60).acquire()
            before = signal.signal(signal.SIGUSR1, lambda *_: lease.release())
            self.addCleanup(signal.signal, signal.SIGUSR1, before)
            threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGUSR1]).start()
            self.assertFalse(lease.wait_lost(30))
            self.assertFalse(lease.is_valid)

    def test_one_thread_supersedes_its_own_query(self) -> None:
        hf = holdfast.connect(self.address)
        field = hf.dictionary("fruit").type_ahead(debounce=60)
        first, second = field.submit("a"), field.submit("ap")
        self.assertIsNone(first.result(30))
        field.close()
        with self.assertRaises(holdfast.ClosedError):
            second.result(30)
        hf.close()

    def test_a_callback_that_exits_does_not_end_the_thread(self) -> None:
        def leave(_: LeaseLost) -> None:
            raise SystemExit(1)

        with self.assertLogs("holdfast", "ERROR"), holdfast.connect(self.address) as hf:
            lost = threading.Event()
            lease = hf.lock("revoked", ttl=60).acquire()
            lease.on_lost(leave)
            lease.on_lost(lambda _: lost.set())
            self.assertTrue(lost.wait(30))
            with hf.lock("report", ttl=60) as other:
                other.check()

    def test_a_close_is_a_loss_of_a_block_in_another_thread(self) -> None:
        begun, closed = threading.Event(), threading.Event()
        caught: list[BaseException] = []
        hf = holdfast.connect(self.address)

        def work() -> None:
            try:
                with hf.lock("report", ttl=60) as lease:
                    lease.on_lost(lambda _: closed.set())
                    begun.set()
                    closed.wait(30)
                    lease.check()
            except LeaseLost as lost:
                caught.append(lost)

        thread = threading.Thread(target=work)
        thread.start()
        self.assertTrue(begun.wait(30))
        hf.close()
        thread.join(30)
        self.assertEqual([getattr(one, "loss_cause", None) for one in caught], [LossCause.CLOSED])

    def test_close_ends_a_wait_of_another_thread(self) -> None:
        caught: list[BaseException] = []
        hf = holdfast.connect(self.address)

        def work() -> None:
            try:
                hf.lock("taken").acquire()
            except holdfast.ClosedError as error:
                caught.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        hf.close()
        for thread in threads:
            thread.join(30)
        # Each raise adds a traceback to its error, so no two threads share an error.
        self.assertEqual(len({id(error) for error in caught}), 4)

    def test_ctrl_c_ends_a_wait(self) -> None:
        with holdfast.connect(self.address) as hf:
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                hf.lock("taken").acquire()
            timer.join()

    def test_the_last_close_ends_the_thread(self) -> None:
        def names() -> "list[str]":
            return [thread.name for thread in threading.enumerate()]

        first = holdfast.connect(self.address)
        second = holdfast.connect(self.address)
        self.assertEqual(names().count("holdfast"), 1)
        first.close()
        second.lock("report", ttl=60).acquire()
        second.close()
        self.assertNotIn("holdfast", names())
        with self.assertRaises(holdfast.ClosedError):
            first.lock("report").acquire()

    def test_interrupted_closes_keep_nothing_of_their_clients(self) -> None:
        with holdfast.connect(self.address) as other:
            stops = other._portal.stops
            for _ in range(3):
                hf = holdfast.connect(self.address)

                def interrupted(portal: Portal, work: Any) -> None:
                    portal._submit(work).cancel()
                    raise KeyboardInterrupt

                with mock.patch.object(Portal, "run", interrupted):
                    with self.assertRaises(KeyboardInterrupt):
                        hf.close()
            until = time.monotonic() + 30
            while len(stops) > 1 and time.monotonic() < until:
                time.sleep(0.01)
            self.assertEqual(len(stops), 1)

    def test_an_interrupted_close_leaves_no_thread_and_no_task(self) -> None:
        program = (
            "import holdfast, os, signal, threading\n"
            f"hf = holdfast.connect({self.address!r})\n"
            "def interrupt(_):\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "try:\n"
            "    with hf.lock('report', ttl=60) as lease:\n"
            # The close waits for the end of this block.
            "        lease.on_lost(interrupt)\n"
            "        hf.close()\n"
            "except KeyboardInterrupt:\n"
            "    print('holdfast' in [one.name for one in threading.enumerate()])\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
        self.assertEqual((done.stdout, done.stderr), ("False\n", ""))

    @unittest.skipUnless(hasattr(os, "fork"), "the platform does not fork")
    def test_a_forked_child_has_lost_the_lease_and_disturbs_nothing(self) -> None:
        with self.assertLogs("holdfast", "INFO") as logs:
            with holdfast.connect(self.address) as hf:
                with hf.lock("report", ttl=1) as lease:
                    child = os.fork()
                    if child == 0:
                        self._end_child(hf, lease)
                    _, status = os.waitpid(child, 0)
                    self.assertEqual(status, 0)
                    time.sleep(1.5)
                    lease.check()
        self.assertEqual(len(logs.output), 1, logs.output)

    @unittest.skipUnless(hasattr(os, "fork"), "the platform does not fork")
    def test_a_forked_child_of_a_connected_process_is_told_that_it_cannot_connect(self) -> None:
        with holdfast.connect(self.address):
            pass
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                holdfast.connect(self.address)
            except holdfast.HoldfastError as error:
                os.write(write, f"{error.reason}: {error}".encode())
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with open(read, encoding="utf-8") as pipe:
            self.assertRegex(pipe.read(), "^FORKED: .*fork before the first connect")

    @unittest.skipUnless(hasattr(os, "fork"), "the platform does not fork")
    def test_a_child_that_was_forked_before_the_first_connect_connects(self) -> None:
        program = (
            "import holdfast, os\n"
            "child = os.fork()\n"
            f"with holdfast.connect({self.address!r}) as hf, hf.lock('report', ttl=60) as lease:\n"
            "    lease.check()\n"
            "if child:\n"
            "    assert os.waitpid(child, 0)[1] == 0\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)

    def _end_child(self, hf: holdfast.Holdfast, lease: holdfast.Lease) -> None:
        is_right = False
        try:
            is_right = not lease.is_valid and not lease.release()
            try:
                hf.lock("report").acquire()
                is_right = False
            except holdfast.ClosedError:
                pass
            hf.close()
        finally:
            os._exit(0 if is_right else 1)
