package dev.holdfast.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Locks by name. A lock needs no creation: an unused name is a free lock, and the store forgets an idle
 * lock after a while. All waiters of a name, shared and exclusive, wait in one queue and are granted in
 * its order. A shared request behind an exclusive waiter waits too, so no mode starves.
 * "Not granted" is an error, never a flag in an OK answer: a caller that does not check the answer must
 * not enter the critical section. Every call can also end with STORE_UNAVAILABLE, OUTCOME_UNKNOWN,
 * DRAINING or INTERNAL. `ErrorReason` describes how a client reacts to each error.
 * Not offered: re-entrance, upgrade, downgrade. A second request of the same `holder_id` with a new
 * `request_id` waits in the queue like any other request.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class LockServiceGrpc {

  private LockServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "holdfast.v1.LockService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.AcquireLockRequest,
      dev.holdfast.v1.AcquireLockResponse> getAcquireLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AcquireLock",
      requestType = dev.holdfast.v1.AcquireLockRequest.class,
      responseType = dev.holdfast.v1.AcquireLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.AcquireLockRequest,
      dev.holdfast.v1.AcquireLockResponse> getAcquireLockMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.AcquireLockRequest, dev.holdfast.v1.AcquireLockResponse> getAcquireLockMethod;
    if ((getAcquireLockMethod = LockServiceGrpc.getAcquireLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getAcquireLockMethod = LockServiceGrpc.getAcquireLockMethod) == null) {
          LockServiceGrpc.getAcquireLockMethod = getAcquireLockMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.AcquireLockRequest, dev.holdfast.v1.AcquireLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AcquireLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.AcquireLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.AcquireLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("AcquireLock"))
              .build();
        }
      }
    }
    return getAcquireLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.RenewLockRequest,
      dev.holdfast.v1.RenewLockResponse> getRenewLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RenewLock",
      requestType = dev.holdfast.v1.RenewLockRequest.class,
      responseType = dev.holdfast.v1.RenewLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.RenewLockRequest,
      dev.holdfast.v1.RenewLockResponse> getRenewLockMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.RenewLockRequest, dev.holdfast.v1.RenewLockResponse> getRenewLockMethod;
    if ((getRenewLockMethod = LockServiceGrpc.getRenewLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getRenewLockMethod = LockServiceGrpc.getRenewLockMethod) == null) {
          LockServiceGrpc.getRenewLockMethod = getRenewLockMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.RenewLockRequest, dev.holdfast.v1.RenewLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RenewLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RenewLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RenewLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("RenewLock"))
              .build();
        }
      }
    }
    return getRenewLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.ReleaseLockRequest,
      dev.holdfast.v1.ReleaseLockResponse> getReleaseLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReleaseLock",
      requestType = dev.holdfast.v1.ReleaseLockRequest.class,
      responseType = dev.holdfast.v1.ReleaseLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.ReleaseLockRequest,
      dev.holdfast.v1.ReleaseLockResponse> getReleaseLockMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.ReleaseLockRequest, dev.holdfast.v1.ReleaseLockResponse> getReleaseLockMethod;
    if ((getReleaseLockMethod = LockServiceGrpc.getReleaseLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getReleaseLockMethod = LockServiceGrpc.getReleaseLockMethod) == null) {
          LockServiceGrpc.getReleaseLockMethod = getReleaseLockMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.ReleaseLockRequest, dev.holdfast.v1.ReleaseLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReleaseLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ReleaseLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ReleaseLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ReleaseLock"))
              .build();
        }
      }
    }
    return getReleaseLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.HoldLockRequest,
      dev.holdfast.v1.HoldLockResponse> getHoldLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "HoldLock",
      requestType = dev.holdfast.v1.HoldLockRequest.class,
      responseType = dev.holdfast.v1.HoldLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.HoldLockRequest,
      dev.holdfast.v1.HoldLockResponse> getHoldLockMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.HoldLockRequest, dev.holdfast.v1.HoldLockResponse> getHoldLockMethod;
    if ((getHoldLockMethod = LockServiceGrpc.getHoldLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getHoldLockMethod = LockServiceGrpc.getHoldLockMethod) == null) {
          LockServiceGrpc.getHoldLockMethod = getHoldLockMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.HoldLockRequest, dev.holdfast.v1.HoldLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "HoldLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.HoldLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.HoldLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("HoldLock"))
              .build();
        }
      }
    }
    return getHoldLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.GetLockRequest,
      dev.holdfast.v1.GetLockResponse> getGetLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetLock",
      requestType = dev.holdfast.v1.GetLockRequest.class,
      responseType = dev.holdfast.v1.GetLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.GetLockRequest,
      dev.holdfast.v1.GetLockResponse> getGetLockMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.GetLockRequest, dev.holdfast.v1.GetLockResponse> getGetLockMethod;
    if ((getGetLockMethod = LockServiceGrpc.getGetLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getGetLockMethod = LockServiceGrpc.getGetLockMethod) == null) {
          LockServiceGrpc.getGetLockMethod = getGetLockMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.GetLockRequest, dev.holdfast.v1.GetLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.GetLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.GetLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("GetLock"))
              .build();
        }
      }
    }
    return getGetLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.ListLocksRequest,
      dev.holdfast.v1.ListLocksResponse> getListLocksMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListLocks",
      requestType = dev.holdfast.v1.ListLocksRequest.class,
      responseType = dev.holdfast.v1.ListLocksResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.ListLocksRequest,
      dev.holdfast.v1.ListLocksResponse> getListLocksMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.ListLocksRequest, dev.holdfast.v1.ListLocksResponse> getListLocksMethod;
    if ((getListLocksMethod = LockServiceGrpc.getListLocksMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getListLocksMethod = LockServiceGrpc.getListLocksMethod) == null) {
          LockServiceGrpc.getListLocksMethod = getListLocksMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.ListLocksRequest, dev.holdfast.v1.ListLocksResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListLocks"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListLocksRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListLocksResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ListLocks"))
              .build();
        }
      }
    }
    return getListLocksMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.WatchLockRequest,
      dev.holdfast.v1.WatchLockResponse> getWatchLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchLock",
      requestType = dev.holdfast.v1.WatchLockRequest.class,
      responseType = dev.holdfast.v1.WatchLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.WatchLockRequest,
      dev.holdfast.v1.WatchLockResponse> getWatchLockMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.WatchLockRequest, dev.holdfast.v1.WatchLockResponse> getWatchLockMethod;
    if ((getWatchLockMethod = LockServiceGrpc.getWatchLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getWatchLockMethod = LockServiceGrpc.getWatchLockMethod) == null) {
          LockServiceGrpc.getWatchLockMethod = getWatchLockMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.WatchLockRequest, dev.holdfast.v1.WatchLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.WatchLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.WatchLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("WatchLock"))
              .build();
        }
      }
    }
    return getWatchLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.RevokeLockRequest,
      dev.holdfast.v1.RevokeLockResponse> getRevokeLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RevokeLock",
      requestType = dev.holdfast.v1.RevokeLockRequest.class,
      responseType = dev.holdfast.v1.RevokeLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.RevokeLockRequest,
      dev.holdfast.v1.RevokeLockResponse> getRevokeLockMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.RevokeLockRequest, dev.holdfast.v1.RevokeLockResponse> getRevokeLockMethod;
    if ((getRevokeLockMethod = LockServiceGrpc.getRevokeLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getRevokeLockMethod = LockServiceGrpc.getRevokeLockMethod) == null) {
          LockServiceGrpc.getRevokeLockMethod = getRevokeLockMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.RevokeLockRequest, dev.holdfast.v1.RevokeLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RevokeLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RevokeLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RevokeLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("RevokeLock"))
              .build();
        }
      }
    }
    return getRevokeLockMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static LockServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceStub>() {
        @java.lang.Override
        public LockServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceStub(channel, callOptions);
        }
      };
    return LockServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static LockServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingStub>() {
        @java.lang.Override
        public LockServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceBlockingStub(channel, callOptions);
        }
      };
    return LockServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static LockServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceFutureStub>() {
        @java.lang.Override
        public LockServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceFutureStub(channel, callOptions);
        }
      };
    return LockServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Locks by name. A lock needs no creation: an unused name is a free lock, and the store forgets an idle
   * lock after a while. All waiters of a name, shared and exclusive, wait in one queue and are granted in
   * its order. A shared request behind an exclusive waiter waits too, so no mode starves.
   * "Not granted" is an error, never a flag in an OK answer: a caller that does not check the answer must
   * not enter the critical section. Every call can also end with STORE_UNAVAILABLE, OUTCOME_UNKNOWN,
   * DRAINING or INTERNAL. `ErrorReason` describes how a client reacts to each error.
   * Not offered: re-entrance, upgrade, downgrade. A second request of the same `holder_id` with a new
   * `request_id` waits in the queue like any other request.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Acquires the lock. Waits in the queue for up to `wait_timeout`, and no longer than the call's
     * deadline. The server answers shortly before the deadline, so a wait ends with an answer. The lease
     * lives for its `ttl`. Renew the lease with RenewLock, or keep the lease with HoldLock and its
     * `lease_id`.
     * Idempotent with a `request_id`: a retry gets the same lease with the remaining time, or keeps the
     * same place in the queue. Without a `request_id`, a retry after a lost answer waits behind the lease
     * of the first attempt.
     * Errors:
     *   - SUPERSEDED: a newer call with the same `request_id` has taken over the place in the queue.
     *   - LEASE_LOST: an operator has revoked the waiting request.
     *   - INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, REQUEST_FINISHED, QUEUE_FULL, QUOTA_EXCEEDED,
     *     STORE_FULL, QUARANTINED.
     * </pre>
     */
    default void acquireLock(dev.holdfast.v1.AcquireLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.AcquireLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAcquireLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * Renews a lease: the lease lives for its `ttl` from now on. A renewal never brings the end of a lease
     * nearer, and never restores an ended lease. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (only shortly before the end of the lease, after
     * a failover of the store).
     * </pre>
     */
    default void renewLock(dev.holdfast.v1.RenewLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RenewLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenewLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * Releases a lease, and grants the first waiter in the queue immediately. Idempotent. Never changes
     * another lease, even after this lease has ended. An ended lease is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void releaseLock(dev.holdfast.v1.ReleaseLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ReleaseLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReleaseLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * Acquires the lock, and keeps the lock as long as the stream is open: the server renews the lease,
     * and sends `lost` immediately when the lease is lost. Call HoldLock without a deadline.
     * After the stream ends, for any reason (network, drain, crash, cancellation), the lease continues to
     * the end of its `ttl`: a broken connection does not prove that the worker has stopped. ReleaseLock
     * releases the lease earlier; a cancellation does not. A stream ends with REATTACH after an hour, or
     * after 200 times the `ttl` if that is shorter.
     * If the stream ends without `released` or `lost`, open a new stream on any server. Before `granted`,
     * use the same `request_id`: the request keeps its place in the queue. After `granted`, use the
     * `lease_id`: the fencing token stays the same.
     * The server observes only the connection. A hung worker behind an open connection keeps its lease. A
     * worker that has vanished keeps its lease too, if a proxy answers the HTTP/2 pings. To avoid this,
     * use a session of SessionService, which needs heartbeats of the worker's process. Or use AcquireLock,
     * and renew the lease from the protected work itself.
     * Errors: those of AcquireLock; LEASE_LOST, SUPERSEDED, LEASE_NOT_HELD (attach to an ended lease),
     * REATTACH.
     * </pre>
     */
    default void holdLock(dev.holdfast.v1.HoldLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.HoldLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getHoldLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads the holders and waiters of a lock. For display only, never as a reason to enter the critical
     * section: the answer may be out of date on arrival. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void getLock(dev.holdfast.v1.GetLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.GetLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the locks that have a holder or a waiter, in pages. Names that change during the listing may
     * be missing or appear in their new state. A page may have fewer locks than `page_size`, or none, and
     * still have a next page. Locks that the caller may not read are left out. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void listLocks(dev.holdfast.v1.ListLocksRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListLocksResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListLocksMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sends the state of the lock immediately, and again after each change: grants, ends of leases,
     * revocations, the queue, metadata. A renewal is not a change. A slow reader gets the latest state, not
     * each state in between. While the store cannot be reached, the watch waits. Then the watch continues.
     * A lock that nobody holds is a state like any other, so a watch of an unused name is valid.
     * For a leader election, the leader holds the lock, its `metadata` has the leader's address, and
     * observers watch the lock.
     * The server usually sends a change within 250 milliseconds, and otherwise within about a second. A
     * state is for display and for routing, never a reason to enter the critical section.
     * The stream ends with REATTACH at the stream age in GetServerInfo. Then open the next stream.
     * Errors: INVALID_FIELD, QUOTA_EXCEEDED, REATTACH.
     * </pre>
     */
    default void watchLock(dev.holdfast.v1.WatchLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.WatchLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes leases away from their holders, or a waiter out of the queue. For operators.
     * Without `force`, the lease can no longer be renewed, and its hold stream ends immediately with `lost`
     * and cause REVOKED. The lock stays taken until the lease ends (`free_time`), because its holder may work
     * until then. A release by the holder ends the lease earlier.
     * With `force`, the next waiter is granted immediately. From then on only the fencing token protects the
     * work of the revoked holder.
     * A revoked waiter leaves the queue immediately, and does not return to the queue. The waiting call
     * ends with LEASE_LOST and cause REVOKED when its server learns of the revocation. The server usually
     * learns of the revocation immediately. Otherwise the server learns of the revocation when the server
     * reaches the store again and grants do not pause. GetLock shows a request as a holder even before its
     * client is told of the grant. If such a request is revoked, its call ends in the same way, and its
     * permits are free before the end of the lease.
     * Idempotent without `force`, except for waiters and for grants that no client was told of. A repeated
     * call may answer a lower count, because leases or waits have ended. After OUTCOME_UNKNOWN some leases
     * or waiters may be revoked. Repeat the call until the answer is not OUTCOME_UNKNOWN. If this answer
     * has the count 0, the first call may have done the work. RevokeLock also works while the store grants
     * nothing (QUARANTINED).
     * Errors: INVALID_FIELD, OUTCOME_UNKNOWN (repeat the call).
     * </pre>
     */
    default void revokeLock(dev.holdfast.v1.RevokeLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RevokeLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRevokeLockMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service LockService.
   * <pre>
   * Locks by name. A lock needs no creation: an unused name is a free lock, and the store forgets an idle
   * lock after a while. All waiters of a name, shared and exclusive, wait in one queue and are granted in
   * its order. A shared request behind an exclusive waiter waits too, so no mode starves.
   * "Not granted" is an error, never a flag in an OK answer: a caller that does not check the answer must
   * not enter the critical section. Every call can also end with STORE_UNAVAILABLE, OUTCOME_UNKNOWN,
   * DRAINING or INTERNAL. `ErrorReason` describes how a client reacts to each error.
   * Not offered: re-entrance, upgrade, downgrade. A second request of the same `holder_id` with a new
   * `request_id` waits in the queue like any other request.
   * </pre>
   */
  public static abstract class LockServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return LockServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service LockService.
   * <pre>
   * Locks by name. A lock needs no creation: an unused name is a free lock, and the store forgets an idle
   * lock after a while. All waiters of a name, shared and exclusive, wait in one queue and are granted in
   * its order. A shared request behind an exclusive waiter waits too, so no mode starves.
   * "Not granted" is an error, never a flag in an OK answer: a caller that does not check the answer must
   * not enter the critical section. Every call can also end with STORE_UNAVAILABLE, OUTCOME_UNKNOWN,
   * DRAINING or INTERNAL. `ErrorReason` describes how a client reacts to each error.
   * Not offered: re-entrance, upgrade, downgrade. A second request of the same `holder_id` with a new
   * `request_id` waits in the queue like any other request.
   * </pre>
   */
  public static final class LockServiceStub
      extends io.grpc.stub.AbstractAsyncStub<LockServiceStub> {
    private LockServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Acquires the lock. Waits in the queue for up to `wait_timeout`, and no longer than the call's
     * deadline. The server answers shortly before the deadline, so a wait ends with an answer. The lease
     * lives for its `ttl`. Renew the lease with RenewLock, or keep the lease with HoldLock and its
     * `lease_id`.
     * Idempotent with a `request_id`: a retry gets the same lease with the remaining time, or keeps the
     * same place in the queue. Without a `request_id`, a retry after a lost answer waits behind the lease
     * of the first attempt.
     * Errors:
     *   - SUPERSEDED: a newer call with the same `request_id` has taken over the place in the queue.
     *   - LEASE_LOST: an operator has revoked the waiting request.
     *   - INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, REQUEST_FINISHED, QUEUE_FULL, QUOTA_EXCEEDED,
     *     STORE_FULL, QUARANTINED.
     * </pre>
     */
    public void acquireLock(dev.holdfast.v1.AcquireLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.AcquireLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAcquireLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Renews a lease: the lease lives for its `ttl` from now on. A renewal never brings the end of a lease
     * nearer, and never restores an ended lease. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (only shortly before the end of the lease, after
     * a failover of the store).
     * </pre>
     */
    public void renewLock(dev.holdfast.v1.RenewLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RenewLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenewLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Releases a lease, and grants the first waiter in the queue immediately. Idempotent. Never changes
     * another lease, even after this lease has ended. An ended lease is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void releaseLock(dev.holdfast.v1.ReleaseLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ReleaseLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReleaseLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Acquires the lock, and keeps the lock as long as the stream is open: the server renews the lease,
     * and sends `lost` immediately when the lease is lost. Call HoldLock without a deadline.
     * After the stream ends, for any reason (network, drain, crash, cancellation), the lease continues to
     * the end of its `ttl`: a broken connection does not prove that the worker has stopped. ReleaseLock
     * releases the lease earlier; a cancellation does not. A stream ends with REATTACH after an hour, or
     * after 200 times the `ttl` if that is shorter.
     * If the stream ends without `released` or `lost`, open a new stream on any server. Before `granted`,
     * use the same `request_id`: the request keeps its place in the queue. After `granted`, use the
     * `lease_id`: the fencing token stays the same.
     * The server observes only the connection. A hung worker behind an open connection keeps its lease. A
     * worker that has vanished keeps its lease too, if a proxy answers the HTTP/2 pings. To avoid this,
     * use a session of SessionService, which needs heartbeats of the worker's process. Or use AcquireLock,
     * and renew the lease from the protected work itself.
     * Errors: those of AcquireLock; LEASE_LOST, SUPERSEDED, LEASE_NOT_HELD (attach to an ended lease),
     * REATTACH.
     * </pre>
     */
    public void holdLock(dev.holdfast.v1.HoldLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.HoldLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getHoldLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads the holders and waiters of a lock. For display only, never as a reason to enter the critical
     * section: the answer may be out of date on arrival. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void getLock(dev.holdfast.v1.GetLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.GetLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the locks that have a holder or a waiter, in pages. Names that change during the listing may
     * be missing or appear in their new state. A page may have fewer locks than `page_size`, or none, and
     * still have a next page. Locks that the caller may not read are left out. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void listLocks(dev.holdfast.v1.ListLocksRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListLocksResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListLocksMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sends the state of the lock immediately, and again after each change: grants, ends of leases,
     * revocations, the queue, metadata. A renewal is not a change. A slow reader gets the latest state, not
     * each state in between. While the store cannot be reached, the watch waits. Then the watch continues.
     * A lock that nobody holds is a state like any other, so a watch of an unused name is valid.
     * For a leader election, the leader holds the lock, its `metadata` has the leader's address, and
     * observers watch the lock.
     * The server usually sends a change within 250 milliseconds, and otherwise within about a second. A
     * state is for display and for routing, never a reason to enter the critical section.
     * The stream ends with REATTACH at the stream age in GetServerInfo. Then open the next stream.
     * Errors: INVALID_FIELD, QUOTA_EXCEEDED, REATTACH.
     * </pre>
     */
    public void watchLock(dev.holdfast.v1.WatchLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.WatchLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes leases away from their holders, or a waiter out of the queue. For operators.
     * Without `force`, the lease can no longer be renewed, and its hold stream ends immediately with `lost`
     * and cause REVOKED. The lock stays taken until the lease ends (`free_time`), because its holder may work
     * until then. A release by the holder ends the lease earlier.
     * With `force`, the next waiter is granted immediately. From then on only the fencing token protects the
     * work of the revoked holder.
     * A revoked waiter leaves the queue immediately, and does not return to the queue. The waiting call
     * ends with LEASE_LOST and cause REVOKED when its server learns of the revocation. The server usually
     * learns of the revocation immediately. Otherwise the server learns of the revocation when the server
     * reaches the store again and grants do not pause. GetLock shows a request as a holder even before its
     * client is told of the grant. If such a request is revoked, its call ends in the same way, and its
     * permits are free before the end of the lease.
     * Idempotent without `force`, except for waiters and for grants that no client was told of. A repeated
     * call may answer a lower count, because leases or waits have ended. After OUTCOME_UNKNOWN some leases
     * or waiters may be revoked. Repeat the call until the answer is not OUTCOME_UNKNOWN. If this answer
     * has the count 0, the first call may have done the work. RevokeLock also works while the store grants
     * nothing (QUARANTINED).
     * Errors: INVALID_FIELD, OUTCOME_UNKNOWN (repeat the call).
     * </pre>
     */
    public void revokeLock(dev.holdfast.v1.RevokeLockRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RevokeLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRevokeLockMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service LockService.
   * <pre>
   * Locks by name. A lock needs no creation: an unused name is a free lock, and the store forgets an idle
   * lock after a while. All waiters of a name, shared and exclusive, wait in one queue and are granted in
   * its order. A shared request behind an exclusive waiter waits too, so no mode starves.
   * "Not granted" is an error, never a flag in an OK answer: a caller that does not check the answer must
   * not enter the critical section. Every call can also end with STORE_UNAVAILABLE, OUTCOME_UNKNOWN,
   * DRAINING or INTERNAL. `ErrorReason` describes how a client reacts to each error.
   * Not offered: re-entrance, upgrade, downgrade. A second request of the same `holder_id` with a new
   * `request_id` waits in the queue like any other request.
   * </pre>
   */
  public static final class LockServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<LockServiceBlockingStub> {
    private LockServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Acquires the lock. Waits in the queue for up to `wait_timeout`, and no longer than the call's
     * deadline. The server answers shortly before the deadline, so a wait ends with an answer. The lease
     * lives for its `ttl`. Renew the lease with RenewLock, or keep the lease with HoldLock and its
     * `lease_id`.
     * Idempotent with a `request_id`: a retry gets the same lease with the remaining time, or keeps the
     * same place in the queue. Without a `request_id`, a retry after a lost answer waits behind the lease
     * of the first attempt.
     * Errors:
     *   - SUPERSEDED: a newer call with the same `request_id` has taken over the place in the queue.
     *   - LEASE_LOST: an operator has revoked the waiting request.
     *   - INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, REQUEST_FINISHED, QUEUE_FULL, QUOTA_EXCEEDED,
     *     STORE_FULL, QUARANTINED.
     * </pre>
     */
    public dev.holdfast.v1.AcquireLockResponse acquireLock(dev.holdfast.v1.AcquireLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAcquireLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Renews a lease: the lease lives for its `ttl` from now on. A renewal never brings the end of a lease
     * nearer, and never restores an ended lease. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (only shortly before the end of the lease, after
     * a failover of the store).
     * </pre>
     */
    public dev.holdfast.v1.RenewLockResponse renewLock(dev.holdfast.v1.RenewLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenewLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Releases a lease, and grants the first waiter in the queue immediately. Idempotent. Never changes
     * another lease, even after this lease has ended. An ended lease is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.ReleaseLockResponse releaseLock(dev.holdfast.v1.ReleaseLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReleaseLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Acquires the lock, and keeps the lock as long as the stream is open: the server renews the lease,
     * and sends `lost` immediately when the lease is lost. Call HoldLock without a deadline.
     * After the stream ends, for any reason (network, drain, crash, cancellation), the lease continues to
     * the end of its `ttl`: a broken connection does not prove that the worker has stopped. ReleaseLock
     * releases the lease earlier; a cancellation does not. A stream ends with REATTACH after an hour, or
     * after 200 times the `ttl` if that is shorter.
     * If the stream ends without `released` or `lost`, open a new stream on any server. Before `granted`,
     * use the same `request_id`: the request keeps its place in the queue. After `granted`, use the
     * `lease_id`: the fencing token stays the same.
     * The server observes only the connection. A hung worker behind an open connection keeps its lease. A
     * worker that has vanished keeps its lease too, if a proxy answers the HTTP/2 pings. To avoid this,
     * use a session of SessionService, which needs heartbeats of the worker's process. Or use AcquireLock,
     * and renew the lease from the protected work itself.
     * Errors: those of AcquireLock; LEASE_LOST, SUPERSEDED, LEASE_NOT_HELD (attach to an ended lease),
     * REATTACH.
     * </pre>
     */
    public java.util.Iterator<dev.holdfast.v1.HoldLockResponse> holdLock(
        dev.holdfast.v1.HoldLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getHoldLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the holders and waiters of a lock. For display only, never as a reason to enter the critical
     * section: the answer may be out of date on arrival. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.GetLockResponse getLock(dev.holdfast.v1.GetLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the locks that have a holder or a waiter, in pages. Names that change during the listing may
     * be missing or appear in their new state. A page may have fewer locks than `page_size`, or none, and
     * still have a next page. Locks that the caller may not read are left out. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.ListLocksResponse listLocks(dev.holdfast.v1.ListLocksRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListLocksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the state of the lock immediately, and again after each change: grants, ends of leases,
     * revocations, the queue, metadata. A renewal is not a change. A slow reader gets the latest state, not
     * each state in between. While the store cannot be reached, the watch waits. Then the watch continues.
     * A lock that nobody holds is a state like any other, so a watch of an unused name is valid.
     * For a leader election, the leader holds the lock, its `metadata` has the leader's address, and
     * observers watch the lock.
     * The server usually sends a change within 250 milliseconds, and otherwise within about a second. A
     * state is for display and for routing, never a reason to enter the critical section.
     * The stream ends with REATTACH at the stream age in GetServerInfo. Then open the next stream.
     * Errors: INVALID_FIELD, QUOTA_EXCEEDED, REATTACH.
     * </pre>
     */
    public java.util.Iterator<dev.holdfast.v1.WatchLockResponse> watchLock(
        dev.holdfast.v1.WatchLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes leases away from their holders, or a waiter out of the queue. For operators.
     * Without `force`, the lease can no longer be renewed, and its hold stream ends immediately with `lost`
     * and cause REVOKED. The lock stays taken until the lease ends (`free_time`), because its holder may work
     * until then. A release by the holder ends the lease earlier.
     * With `force`, the next waiter is granted immediately. From then on only the fencing token protects the
     * work of the revoked holder.
     * A revoked waiter leaves the queue immediately, and does not return to the queue. The waiting call
     * ends with LEASE_LOST and cause REVOKED when its server learns of the revocation. The server usually
     * learns of the revocation immediately. Otherwise the server learns of the revocation when the server
     * reaches the store again and grants do not pause. GetLock shows a request as a holder even before its
     * client is told of the grant. If such a request is revoked, its call ends in the same way, and its
     * permits are free before the end of the lease.
     * Idempotent without `force`, except for waiters and for grants that no client was told of. A repeated
     * call may answer a lower count, because leases or waits have ended. After OUTCOME_UNKNOWN some leases
     * or waiters may be revoked. Repeat the call until the answer is not OUTCOME_UNKNOWN. If this answer
     * has the count 0, the first call may have done the work. RevokeLock also works while the store grants
     * nothing (QUARANTINED).
     * Errors: INVALID_FIELD, OUTCOME_UNKNOWN (repeat the call).
     * </pre>
     */
    public dev.holdfast.v1.RevokeLockResponse revokeLock(dev.holdfast.v1.RevokeLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRevokeLockMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service LockService.
   * <pre>
   * Locks by name. A lock needs no creation: an unused name is a free lock, and the store forgets an idle
   * lock after a while. All waiters of a name, shared and exclusive, wait in one queue and are granted in
   * its order. A shared request behind an exclusive waiter waits too, so no mode starves.
   * "Not granted" is an error, never a flag in an OK answer: a caller that does not check the answer must
   * not enter the critical section. Every call can also end with STORE_UNAVAILABLE, OUTCOME_UNKNOWN,
   * DRAINING or INTERNAL. `ErrorReason` describes how a client reacts to each error.
   * Not offered: re-entrance, upgrade, downgrade. A second request of the same `holder_id` with a new
   * `request_id` waits in the queue like any other request.
   * </pre>
   */
  public static final class LockServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<LockServiceFutureStub> {
    private LockServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Acquires the lock. Waits in the queue for up to `wait_timeout`, and no longer than the call's
     * deadline. The server answers shortly before the deadline, so a wait ends with an answer. The lease
     * lives for its `ttl`. Renew the lease with RenewLock, or keep the lease with HoldLock and its
     * `lease_id`.
     * Idempotent with a `request_id`: a retry gets the same lease with the remaining time, or keeps the
     * same place in the queue. Without a `request_id`, a retry after a lost answer waits behind the lease
     * of the first attempt.
     * Errors:
     *   - SUPERSEDED: a newer call with the same `request_id` has taken over the place in the queue.
     *   - LEASE_LOST: an operator has revoked the waiting request.
     *   - INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, REQUEST_FINISHED, QUEUE_FULL, QUOTA_EXCEEDED,
     *     STORE_FULL, QUARANTINED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.AcquireLockResponse> acquireLock(
        dev.holdfast.v1.AcquireLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAcquireLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Renews a lease: the lease lives for its `ttl` from now on. A renewal never brings the end of a lease
     * nearer, and never restores an ended lease. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (only shortly before the end of the lease, after
     * a failover of the store).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.RenewLockResponse> renewLock(
        dev.holdfast.v1.RenewLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenewLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Releases a lease, and grants the first waiter in the queue immediately. Idempotent. Never changes
     * another lease, even after this lease has ended. An ended lease is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.ReleaseLockResponse> releaseLock(
        dev.holdfast.v1.ReleaseLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReleaseLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads the holders and waiters of a lock. For display only, never as a reason to enter the critical
     * section: the answer may be out of date on arrival. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.GetLockResponse> getLock(
        dev.holdfast.v1.GetLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the locks that have a holder or a waiter, in pages. Names that change during the listing may
     * be missing or appear in their new state. A page may have fewer locks than `page_size`, or none, and
     * still have a next page. Locks that the caller may not read are left out. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.ListLocksResponse> listLocks(
        dev.holdfast.v1.ListLocksRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListLocksMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes leases away from their holders, or a waiter out of the queue. For operators.
     * Without `force`, the lease can no longer be renewed, and its hold stream ends immediately with `lost`
     * and cause REVOKED. The lock stays taken until the lease ends (`free_time`), because its holder may work
     * until then. A release by the holder ends the lease earlier.
     * With `force`, the next waiter is granted immediately. From then on only the fencing token protects the
     * work of the revoked holder.
     * A revoked waiter leaves the queue immediately, and does not return to the queue. The waiting call
     * ends with LEASE_LOST and cause REVOKED when its server learns of the revocation. The server usually
     * learns of the revocation immediately. Otherwise the server learns of the revocation when the server
     * reaches the store again and grants do not pause. GetLock shows a request as a holder even before its
     * client is told of the grant. If such a request is revoked, its call ends in the same way, and its
     * permits are free before the end of the lease.
     * Idempotent without `force`, except for waiters and for grants that no client was told of. A repeated
     * call may answer a lower count, because leases or waits have ended. After OUTCOME_UNKNOWN some leases
     * or waiters may be revoked. Repeat the call until the answer is not OUTCOME_UNKNOWN. If this answer
     * has the count 0, the first call may have done the work. RevokeLock also works while the store grants
     * nothing (QUARANTINED).
     * Errors: INVALID_FIELD, OUTCOME_UNKNOWN (repeat the call).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.RevokeLockResponse> revokeLock(
        dev.holdfast.v1.RevokeLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRevokeLockMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ACQUIRE_LOCK = 0;
  private static final int METHODID_RENEW_LOCK = 1;
  private static final int METHODID_RELEASE_LOCK = 2;
  private static final int METHODID_HOLD_LOCK = 3;
  private static final int METHODID_GET_LOCK = 4;
  private static final int METHODID_LIST_LOCKS = 5;
  private static final int METHODID_WATCH_LOCK = 6;
  private static final int METHODID_REVOKE_LOCK = 7;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_ACQUIRE_LOCK:
          serviceImpl.acquireLock((dev.holdfast.v1.AcquireLockRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.AcquireLockResponse>) responseObserver);
          break;
        case METHODID_RENEW_LOCK:
          serviceImpl.renewLock((dev.holdfast.v1.RenewLockRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.RenewLockResponse>) responseObserver);
          break;
        case METHODID_RELEASE_LOCK:
          serviceImpl.releaseLock((dev.holdfast.v1.ReleaseLockRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.ReleaseLockResponse>) responseObserver);
          break;
        case METHODID_HOLD_LOCK:
          serviceImpl.holdLock((dev.holdfast.v1.HoldLockRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.HoldLockResponse>) responseObserver);
          break;
        case METHODID_GET_LOCK:
          serviceImpl.getLock((dev.holdfast.v1.GetLockRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.GetLockResponse>) responseObserver);
          break;
        case METHODID_LIST_LOCKS:
          serviceImpl.listLocks((dev.holdfast.v1.ListLocksRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.ListLocksResponse>) responseObserver);
          break;
        case METHODID_WATCH_LOCK:
          serviceImpl.watchLock((dev.holdfast.v1.WatchLockRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.WatchLockResponse>) responseObserver);
          break;
        case METHODID_REVOKE_LOCK:
          serviceImpl.revokeLock((dev.holdfast.v1.RevokeLockRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.RevokeLockResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getAcquireLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.AcquireLockRequest,
              dev.holdfast.v1.AcquireLockResponse>(
                service, METHODID_ACQUIRE_LOCK)))
        .addMethod(
          getRenewLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.RenewLockRequest,
              dev.holdfast.v1.RenewLockResponse>(
                service, METHODID_RENEW_LOCK)))
        .addMethod(
          getReleaseLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.ReleaseLockRequest,
              dev.holdfast.v1.ReleaseLockResponse>(
                service, METHODID_RELEASE_LOCK)))
        .addMethod(
          getHoldLockMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.holdfast.v1.HoldLockRequest,
              dev.holdfast.v1.HoldLockResponse>(
                service, METHODID_HOLD_LOCK)))
        .addMethod(
          getGetLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.GetLockRequest,
              dev.holdfast.v1.GetLockResponse>(
                service, METHODID_GET_LOCK)))
        .addMethod(
          getListLocksMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.ListLocksRequest,
              dev.holdfast.v1.ListLocksResponse>(
                service, METHODID_LIST_LOCKS)))
        .addMethod(
          getWatchLockMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.holdfast.v1.WatchLockRequest,
              dev.holdfast.v1.WatchLockResponse>(
                service, METHODID_WATCH_LOCK)))
        .addMethod(
          getRevokeLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.RevokeLockRequest,
              dev.holdfast.v1.RevokeLockResponse>(
                service, METHODID_REVOKE_LOCK)))
        .build();
  }

  private static abstract class LockServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    LockServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.holdfast.v1.LockServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("LockService");
    }
  }

  private static final class LockServiceFileDescriptorSupplier
      extends LockServiceBaseDescriptorSupplier {
    LockServiceFileDescriptorSupplier() {}
  }

  private static final class LockServiceMethodDescriptorSupplier
      extends LockServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    LockServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (LockServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new LockServiceFileDescriptorSupplier())
              .addMethod(getAcquireLockMethod())
              .addMethod(getRenewLockMethod())
              .addMethod(getReleaseLockMethod())
              .addMethod(getHoldLockMethod())
              .addMethod(getGetLockMethod())
              .addMethod(getListLocksMethod())
              .addMethod(getWatchLockMethod())
              .addMethod(getRevokeLockMethod())
              .build();
        }
      }
    }
    return result;
  }
}
