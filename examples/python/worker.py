"""Works in small steps under a lock, and writes each step to a store that checks the token.

python examples/python/worker.py report --holder alice
"""

import itertools
import os
import queue
import signal

import holdfast

from arguments import read_arguments, run, say
from ledger import Refused, write

given = read_arguments(
    holder=f"worker-{os.getpid()}",
    servers="127.0.0.1:50051",
    ledger="http://127.0.0.1:8080",
    ttl_ms=10_000,
    step_ms=1_000,
)
#: Takes a signal and the loss of the lease. A put is allowed in a signal handler.
ended: "queue.SimpleQueue[object]" = queue.SimpleQueue()


def work(lease: holdfast.Lease) -> None:
    say(f"granted: token {lease.fencing_token}")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.put(None))  # the step in progress ends first
    lease.on_lost(ended.put)
    for step in itertools.count(1):
        token = lease.fencing_token  # compares the clock, and raises LeaseLost after the deadline
        write(f"{given.ledger}/{given.name}", token, f"{given.holder}: step {step}")
        say(f"step {step} under token {token}")
        try:
            ended.get(timeout=given.step_ms / 1000)
        except queue.Empty:
            continue
        lease.check()
        return


def main() -> int:
    with holdfast.connect(given.servers, holder_id=given.holder) as hf:
        try:
            with hf.lock(
                given.name,
                ttl=given.ttl_ms / 1000,
                on_queued=lambda at: say(f"queued: place {at.position} of {at.waiter_count}"),
            ) as lease:
                work(lease)
            say("released")
            return 0
        except holdfast.LeaseLost as lost:
            say(f"lease lost: {lost.loss_cause.value}, stopping")
        except Refused as refused:
            say(str(refused))
        return 3


run(main)
