"""Reads Holdfast's errors with the usual helpers of a Python program. See ../clients.slow.test.ts."""

import sys

import frozen
import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from holdfast.v1 import lock_service_pb2, lock_service_pb2_grpc, semaphore_service_pb2, semaphore_service_pb2_grpc

TIMEOUT = 20


def print_error(call):
    try:
        call()
    except grpc.RpcError as error:
        print("code:", error.code().name)
        print("message:", error.details())
        for key, value in error.trailing_metadata():
            if key == "holdfast-reason":
                print("trailer:", value)
        for detail in rpc_status.from_call(error).details:
            print_detail(detail)


def print_detail(detail):
    info = error_details_pb2.ErrorInfo()
    retry = error_details_pb2.RetryInfo()
    bad_request = error_details_pb2.BadRequest()
    if detail.Unpack(info):
        print("reason:", info.reason, info.domain)
        for key, value in info.metadata.items():
            print(f"metadata: {key}={value}")
    elif detail.Unpack(retry):
        print("retry:", retry.retry_delay.ToMilliseconds())
    elif detail.Unpack(bad_request):
        for violation in bad_request.field_violations:
            print("violation:", violation.field, violation.description)
    else:
        print("unknown detail:", detail)


def semaphore_round(channel, name):
    client = semaphore_service_pb2_grpc.SemaphoreServiceStub(channel)
    unknown = semaphore_service_pb2.AcquirePermitsRequest(name=name)
    print_error(lambda: client.AcquirePermits(unknown, timeout=TIMEOUT))

    request = semaphore_service_pb2.AcquirePermitsRequest(name=name, permit_count=2, initial_limit=3)
    lease = client.AcquirePermits(request, timeout=TIMEOUT).lease
    print("permits:", lease.name, lease.permit_count)

    many = semaphore_service_pb2.AcquirePermitsRequest(name=name, permit_count=5)
    print_error(lambda: client.AcquirePermits(many, timeout=TIMEOUT))

    change = semaphore_service_pb2.SetSemaphoreLimitRequest(name=name, limit=0, expected_limit=4)
    print_error(lambda: client.SetSemaphoreLimit(change, timeout=TIMEOUT))

    release = semaphore_service_pb2.ReleasePermitsRequest(lease_id=lease.lease_id)
    print("released:", str(client.ReleasePermits(release, timeout=TIMEOUT).released).lower())


def main(target, name):
    with grpc.insecure_channel(target) as channel:
        client = lock_service_pb2_grpc.LockServiceStub(channel)
        request = lock_service_pb2.AcquireLockRequest(
            name=name, ttl=Duration(seconds=30), holder_id="alice", metadata={"language": "python"}
        )
        lease = client.AcquireLock(request, timeout=TIMEOUT).lease
        print("granted:", lease.name, str(lease.ttl.seconds == 30).lower(), str(lease.fencing_token > 0).lower())

        busy = lock_service_pb2.AcquireLockRequest(name=name, wait_timeout=Duration())
        print_error(lambda: client.AcquireLock(busy, timeout=TIMEOUT))

        bad = lock_service_pb2.AcquireLockRequest(ttl=Duration(seconds=-1), request_id="1")
        print_error(lambda: client.AcquireLock(bad, timeout=TIMEOUT))

        release = lock_service_pb2.ReleaseLockRequest(lease_id=lease.lease_id)
        print("released:", str(client.ReleaseLock(release, timeout=TIMEOUT).released).lower())
        semaphore_round(channel, name)


if sys.argv[1] == "frozen":
    frozen.main(*sys.argv[2:])
else:
    main(*sys.argv[1:])
