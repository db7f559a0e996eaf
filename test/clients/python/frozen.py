"""Prints how calls end after their link has frozen. See ../frozen-link.slow.test.ts."""

import threading

import grpc
from google.protobuf.duration_pb2 import Duration
from holdfast.v1 import lock_service_pb2, lock_service_pb2_grpc

TIMEOUT = 60


def print_end(label, error):
    reasons = [value for key, value in error.trailing_metadata() or () if key == "holdfast-reason"]
    line = f"{label}: {error.code().name} {reasons[0] if reasons else 'none'} | {error.details()}"
    # One write, because the calls of several threads end at the same time.
    print(line + "\n", end="", flush=True)


def run(label, call):
    def work():
        try:
            call()
        except grpc.RpcError as error:
            print_end(label, error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def main(target, name, holder_id, waiter_id):
    with grpc.insecure_channel(target) as channel:
        client = lock_service_pb2_grpc.LockServiceStub(channel)

        def hold(label, request_id):
            opened = threading.Event()

            def read():
                request = lock_service_pb2.AcquireLockRequest(
                    name=name, request_id=request_id, ttl=Duration(seconds=30)
                )
                for _ in client.HoldLock(lock_service_pb2.HoldLockRequest(acquire=request), timeout=TIMEOUT):
                    opened.set()

            thread = run(label, read)
            opened.wait(TIMEOUT)
            return thread

        unary = lock_service_pb2.AcquireLockRequest(name=name, wait_timeout=Duration(seconds=50))
        threads = [
            hold("holder", holder_id),
            hold("waiter", waiter_id),
            run("unary", lambda: client.AcquireLock(unary, timeout=TIMEOUT)),
        ]
        for thread in threads:
            thread.join()
