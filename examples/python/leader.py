"""Follows the leaders of an election. With `--value` the process is a candidate too.

python examples/python/leader.py scheduler --value 10.0.0.7:8080
"""

import contextlib
import threading

import holdfast

from arguments import read_arguments, run, say

given = read_arguments(value="", servers="127.0.0.1:50051", ttl_ms=10_000)


def observe(election: holdfast.Election) -> None:
    try:
        for leader in election.observe():
            if leader is None:
                say("leader: none")
            else:
                say(f"leader: {leader.value} under token {leader.fencing_token}")
    except holdfast.ClosedError:
        pass


def lead(lease: holdfast.Lease) -> None:
    say(f"elected under token {lease.fencing_token}")
    with contextlib.suppress(KeyboardInterrupt):
        lease.wait_lost()  # the work of the leader, until a signal or the loss


def main() -> int:
    with holdfast.connect(given.servers) as hf:
        election = hf.election(given.name)
        try:
            if given.value == "":
                observe(election)
                return 0
            threading.Thread(target=observe, args=[election], daemon=True).start()
            with election.campaign(given.value, ttl=given.ttl_ms / 1000) as lease:
                lead(lease)
            say("resigned")
            return 0
        except holdfast.LeaseLost as lost:
            say(f"lease lost: {lost.loss_cause.value}, stopping")
            return 3


run(main)
