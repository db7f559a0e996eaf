"""The driver of the conformance kit: JSON lines on stdin and stdout (clients/conformance)."""

import asyncio
import json
import logging
import os
import sys
from typing import Any, Dict, Set

import grpc.aio
from bench import BENCH
from commands import COMMANDS, Desk
from failures import Unsupported, failure_of

PROTOCOL = 1


class Driver:
    def __init__(self) -> None:
        self._desk = Desk(self._write, self._cancel)
        self._tasks: Dict[int, asyncio.Task[None]] = {}
        self._running: Set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        reader = asyncio.StreamReader(limit=2**26)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer
        )
        # The thread and the sockets of grpc.aio stay, so they exist before the first count.
        grpc.aio.init_grpc_aio()
        self._desk.count_first()
        self._write({"ready": True, "language": "python", "protocol": PROTOCOL})
        while True:
            line = await reader.readline()
            if not line:
                # The clients are not closed: their leases are left to their ttl.
                sys.stdout.flush()
                os._exit(0)
            command = json.loads(line)
            task = loop.create_task(self._answer(command))
            self._tasks[command["id"]] = task
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _answer(self, command: Dict[str, Any]) -> None:
        number = command["id"]
        result: Dict[str, Any]
        try:
            work = COMMANDS.get(command["do"]) or BENCH.get(command["do"])
            if work is None:
                raise Unsupported()
            result = await work(self._desk, command)
        except Unsupported:
            result = {"unsupported": True}
        except asyncio.CancelledError:
            result = {"cancelled": True}
        except Exception as error:
            result = {"error": failure_of(error)}
        self._tasks.pop(number, None)
        self._write({"id": number, **result})

    def _cancel(self, number: int) -> None:
        task = self._tasks.get(number)
        if task is not None:
            task.cancel()

    def _write(self, message: Dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    asyncio.run(Driver().run())
