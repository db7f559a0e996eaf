"""Makes load on the lock of redis-py. bench/locks/driver.ts describes the arguments and the lines."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import redis

# The locks of each client.
LOCKS_EACH = 100
# The time between two writes of a holder (s).
WORK_EVERY = 0.005
MOST_THREADS = 1000

threads = ThreadPoolExecutor(MOST_THREADS)


def monotonic_ms():
    """The machine's monotonic clock, which is the same for all processes."""
    return time.monotonic_ns() / 1e6


class Driver:
    def __init__(self, address, ttl_ms):
        host, port = address.split(":")
        self.client = redis.Redis(host, int(port))
        self.ttl = ttl_ms / 1000

    def acquire(self, name):
        """Waits until the lock is granted, with the library's own interval of 100 ms between two tries."""
        lock = self.client.lock(name, timeout=self.ttl)
        lock.acquire()
        return lock

    def alone(self, clients, for_ms):
        """The time of each acquire. Each client acquires and releases locks of its own in turn."""
        end = monotonic_ms() + for_ms

        def client(index):
            times = []
            while monotonic_ms() < end:
                name = f"alone-{os.getpid()}-{index}-{len(times) % LOCKS_EACH}"
                asked_at = monotonic_ms()
                lock = self.acquire(name)
                times.append(monotonic_ms() - asked_at)
                lock.release()
            return times

        all_times = threads.map(client, range(clients))
        return " ".join(f"{one:.4f}" for times in all_times for one in times)

    def contend(self, name, waiters, for_ms, hold_ms):
        """The times of each grant. A new waiter takes the place of a holder before the holder releases."""
        grants = []
        running = []
        end = monotonic_ms() + for_ms

        def waiter():
            asked_at = monotonic_ms()
            lock = self.acquire(name)
            granted_at = monotonic_ms()
            if granted_at < end:
                running.append(threads.submit(waiter))
                time.sleep(hold_ms / 1000)
            released_at = monotonic_ms()
            lock.release()
            grants.append(f"{asked_at:.4f},{granted_at:.4f},{released_at:.4f}")

        for _ in range(waiters):
            running.append(threads.submit(waiter))
            time.sleep(hold_ms / 1000)
        # A waiter adds its successor before its own end.
        for one in running:
            one.result()
        return " ".join(grants)

    def hold(self, name, count):
        """Acquires locks and holds them until the process ends. A holder writes every 5 ms without a look at the clock."""

        def holder(index):
            lock = self.acquire(f"{name}-{index}")
            while True:
                # One call, because print writes the end of the line in a second call.
                sys.stdout.write(f"write {index} {'true' if lock.owned() else 'false'} -\n")
                sys.stdout.flush()
                time.sleep(WORK_EVERY)

        for index in range(count):
            threads.submit(holder, index)


def main():
    _system, address, ttl_ms = sys.argv[1:]
    driver = Driver(address, int(ttl_ms))
    print("ready", os.getpid(), redis.__version__, flush=True)
    for line in sys.stdin:
        command, *words = line.split()
        if command == "alone":
            print("done", driver.alone(*map(int, words)), flush=True)
        elif command == "contend":
            print("done", driver.contend(words[0], *map(int, words[1:])), flush=True)
        elif command == "hold":
            driver.hold(words[0], int(words[1]))
    # Holders never end, so the process does not wait for its threads.
    os._exit(0)


main()
