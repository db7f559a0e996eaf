"""Makes load on the lock of redis-py. bench/locks/driver.ts describes the tasks."""

import json
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


def reply(message):
    # One call, because print writes the end of the line in a second call.
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Driver:
    def open(self, system, address, ttlMs):
        host, port = address.split(":")
        self.client = redis.Redis(host, int(port))
        self.ttl = ttlMs / 1000
        return {"pid": os.getpid(), "version": redis.__version__}

    def acquire(self, name):
        """Waits until the lock is granted, with the library's own interval of 100 ms between two tries."""
        lock = self.client.lock(name, timeout=self.ttl)
        lock.acquire()
        return lock

    def alone(self, clients, forMs):
        end = monotonic_ms() + forMs

        def client(index):
            times = []
            while monotonic_ms() < end:
                name = f"alone-{os.getpid()}-{index}-{len(times) % LOCKS_EACH}"
                asked_at = monotonic_ms()
                lock = self.acquire(name)
                times.append(monotonic_ms() - asked_at)
                lock.release()
            return times

        return [one for times in threads.map(client, range(clients)) for one in times]

    def contend(self, name, waiters, forMs, holdMs):
        grants = []
        running = []
        end = monotonic_ms() + forMs

        def waiter():
            asked_at = monotonic_ms()
            lock = self.acquire(name)
            granted_at = monotonic_ms()
            if granted_at < end:
                running.append(threads.submit(waiter))
                time.sleep(holdMs / 1000)
            released_at = monotonic_ms()
            lock.release()
            grants.append({"askedAt": asked_at, "grantedAt": granted_at, "releasedAt": released_at})

        for _ in range(waiters):
            running.append(threads.submit(waiter))
            time.sleep(holdMs / 1000)
        # A waiter adds its successor before its own end.
        for one in running:
            one.result()
        return grants

    def hold(self, name, count):
        """A holder writes every 5 ms without a look at the clock."""

        def holder(index):
            lock = self.acquire(f"{name}-{index}")
            while True:
                reply({"event": {"lock": index, "isHeld": lock.owned()}})
                time.sleep(WORK_EVERY)

        for index in range(count):
            threads.submit(holder, index)


def main():
    driver = Driver()
    for line in sys.stdin:
        call = json.loads(line)
        reply({"id": call["id"], "output": getattr(driver, call["task"])(**call["input"])})
    # Holders never end, so the process does not wait for its threads.
    os._exit(0)


main()
