"""Processes that end without a close."""

import subprocess
import sys
import unittest

from .fake_server import running

_PROGRAM = """
import sys
import holdfast

clients = [holdfast.connect(sys.argv[1]) for _ in range(3)]
leases = [hf.lock("report", ttl=60).acquire() for hf in clients]
"""


class Exits(unittest.TestCase):
    def test_a_process_that_just_ends_prints_nothing_of_its_clients(self) -> None:
        with running() as address:
            command = [sys.executable, "-c", _PROGRAM, address]
            ended = subprocess.run(command, stderr=subprocess.PIPE, timeout=60, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertNotIn("pending", ended.stderr)
        self.assertNotIn("Traceback", ended.stderr)
