"""The command line of the pool."""

from __future__ import annotations

import argparse
import os
from typing import Callable, List

from words import span


def whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text}: expected a whole number of at least {least}")
        return int(text)

    return parse


def whole_numbers(least: int) -> Callable[[str], List[int]]:
    return lambda text: [whole(least)(part.strip()) for part in text.split(",")]


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="a pool of processes that never uses more permits than the limit")
    parser.add_argument("--workers", type=whole(1), default=8, help="number of processes (8)")
    parser.add_argument("--limit", type=whole(0), default=3, help="the first limit of the semaphore (3)")
    parser.add_argument("--weights", type=whole_numbers(1), default=[1, 1, 2], help="permits of each worker (1,1,2)")
    parser.add_argument("--schedule", type=whole_numbers(0), default=[], help="limits to set one after the other")
    parser.add_argument("--every", type=span, default=3.0, help="how long each limit is in force (3s)")
    parser.add_argument("--server", default="127.0.0.1:50051", help="HOST:PORT[,...], servers of one store")
    parser.add_argument("--name", default="pool", help="name of the semaphore")
    parser.add_argument("--ttl", type=span, default=5.0, help="ttl of the leases (5s)")
    parser.add_argument("--step", type=span, default=0.25, help="duration of one step (250ms)")
    parser.add_argument("--record", default=f".holdfast/pool-{os.getpid()}.jsonl", help="file for the tally")
    options = parser.parse_args()
    # A worker checks its deadline between steps, so steps must be short compared to the ttl.
    if options.step > options.ttl / 3:
        parser.error("argument --step: must be at most a third of --ttl")
    return options
