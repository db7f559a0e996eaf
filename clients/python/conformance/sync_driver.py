"""The driver of the conformance kit for the face for threads: JSON lines on stdin and stdout.

Each command runs in a thread. Python cancels the work of a thread only by Ctrl-C in the main
thread, so the main thread runs a command that waits, if it is idle. `cancel` sends it a SIGINT.
"""

import json
import logging
import os
import queue
import signal
import sys
import threading
from typing import Any, Dict, Optional

import grpc.aio
from failures import Unsupported, failure_of
from sync_commands import COMMANDS, WAITING, Desk

from holdfast._sync.portal import portals

PROTOCOL = 1


class Driver:
    def __init__(self) -> None:
        self._desk = Desk(self._write, self._cancel)
        self._output = threading.Lock()
        #: For the main thread.
        self._commands: queue.Queue[Dict[str, Any]] = queue.Queue()
        self._state = threading.Lock()
        self._is_main_idle = True
        #: The command that the main thread runs.
        self._main_id: Optional[int] = None
        #: Only of the main thread, which also runs the handlers of signals.
        self._is_interruptible = False

    def run(self) -> None:
        # The thread and the sockets of grpc.aio stay, so they exist before the first count.
        portal = portals.take()
        portal.run(_begin_grpc())
        portals.give_back(portal)
        signal.signal(signal.SIGINT, self._interrupt)
        threading.Thread(target=self._read, name="driver-reader", daemon=True).start()
        self._desk.count_first()
        self._write({"ready": True, "language": "python-sync", "protocol": PROTOCOL})
        while True:
            self._run_in_main(self._commands.get())

    def _read(self) -> None:
        for line in sys.stdin:
            command = json.loads(line)
            with self._state:
                is_for_main = command["do"] in WAITING and self._is_main_idle
                self._is_main_idle = self._is_main_idle and not is_for_main
            if is_for_main:
                self._commands.put(command)
            else:
                threading.Thread(
                    target=self._answer, args=(command,), name="driver-command", daemon=True
                ).start()
        # The clients are not closed: their leases are left to their ttl.
        sys.stdout.flush()
        os._exit(0)

    def _run_in_main(self, command: Dict[str, Any]) -> None:
        with self._state:
            self._main_id = command["id"]
        try:
            self._is_interruptible = True
            result = self._result_of(command)
            self._is_interruptible = False
        except KeyboardInterrupt:
            result = {"cancelled": True}
        with self._state:
            self._main_id, self._is_main_idle = None, True
        self._write({"id": command["id"], **result})

    def _interrupt(self, *_: object) -> None:
        """A signal that comes after the end of the command comes to nothing."""
        if self._is_interruptible:
            self._is_interruptible = False
            raise KeyboardInterrupt

    def _answer(self, command: Dict[str, Any]) -> None:
        self._write({"id": command["id"], **self._result_of(command)})

    def _result_of(self, command: Dict[str, Any]) -> Dict[str, Any]:
        try:
            work = COMMANDS.get(command["do"])
            if work is None:
                raise Unsupported()
            return work(self._desk, command)
        except Unsupported:
            return {"unsupported": True}
        except Exception as error:
            return {"error": failure_of(error)}

    def _cancel(self, number: int) -> None:
        with self._state:
            if self._main_id != number:
                raise Unsupported()
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)

    def _write(self, message: Dict[str, Any]) -> None:
        with self._output:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()


async def _begin_grpc() -> None:
    grpc.aio.init_grpc_aio()


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    Driver().run()
