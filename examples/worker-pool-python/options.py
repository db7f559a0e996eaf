"""What the pool is told on its command line."""

from __future__ import annotations

import argparse
import os
from typing import Callable, List

from words import span


def whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text}: a whole number is wanted, from {least}")
        return int(text)

    return parse


def whole_numbers(least: int) -> Callable[[str], List[int]]:
    return lambda text: [whole(least)(part.strip()) for part in text.split(",")]


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="a pool of processes that never runs more than the limit at once")
    parser.add_argument("--workers", type=whole(1), default=8, help="how many processes (8)")
    parser.add_argument("--limit", type=whole(0), default=3, help="how many permits at work at once, at first (3)")
    parser.add_argument("--weights", type=whole_numbers(1), default=[1, 1, 2], help="permits of each worker (1,1,2)")
    parser.add_argument("--schedule", type=whole_numbers(0), default=[], help="limits to set one after the other")
    parser.add_argument("--every", type=span, default=3.0, help="how long each of them is in force (3s)")
    parser.add_argument("--server", default="127.0.0.1:50051", help="HOST:PORT[,...], servers over one store")
    parser.add_argument("--name", default="pool", help="the semaphore")
    parser.add_argument("--ttl", type=span, default=5.0, help="the leases' ttl (5s)")
    parser.add_argument("--step", type=span, default=0.25, help="how long a step takes (250ms)")
    parser.add_argument("--record", default=f".holdfast/pool-{os.getpid()}.jsonl", help="file to count from")
    options = parser.parse_args()
    # A worker looks at its deadline between steps: they must be short beside the ttl.
    if options.step > options.ttl / 3:
        parser.error("argument --step: no more than a third of --ttl is wanted")
    return options
