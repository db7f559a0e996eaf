package dev.holdfast.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Counting semaphores by name. At every grant, the permits of all leases together are at most the limit
 * in force. Each lease has its own `ttl`, so the permits of a crashed holder come back. All waiters of a
 * name wait in one queue. The first waiter is always granted first, so small requests never starve a
 * large request.
 * SetSemaphoreLimit creates a semaphore that stays until it is deleted. A request with an
 * `initial_limit` creates a semaphore that the store forgets after it was idle for a while.
 * LockService describes leases, retries, streams and errors; all of that applies to semaphores too. The
 * fencing tokens of a semaphore distinguish its leases. They do not order the writes of its holders,
 * because several leases are held at the same time.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SemaphoreServiceGrpc {

  private SemaphoreServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "holdfast.v1.SemaphoreService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.AcquirePermitsRequest,
      dev.holdfast.v1.AcquirePermitsResponse> getAcquirePermitsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AcquirePermits",
      requestType = dev.holdfast.v1.AcquirePermitsRequest.class,
      responseType = dev.holdfast.v1.AcquirePermitsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.AcquirePermitsRequest,
      dev.holdfast.v1.AcquirePermitsResponse> getAcquirePermitsMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.AcquirePermitsRequest, dev.holdfast.v1.AcquirePermitsResponse> getAcquirePermitsMethod;
    if ((getAcquirePermitsMethod = SemaphoreServiceGrpc.getAcquirePermitsMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getAcquirePermitsMethod = SemaphoreServiceGrpc.getAcquirePermitsMethod) == null) {
          SemaphoreServiceGrpc.getAcquirePermitsMethod = getAcquirePermitsMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.AcquirePermitsRequest, dev.holdfast.v1.AcquirePermitsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AcquirePermits"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.AcquirePermitsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.AcquirePermitsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("AcquirePermits"))
              .build();
        }
      }
    }
    return getAcquirePermitsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.RenewPermitsRequest,
      dev.holdfast.v1.RenewPermitsResponse> getRenewPermitsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RenewPermits",
      requestType = dev.holdfast.v1.RenewPermitsRequest.class,
      responseType = dev.holdfast.v1.RenewPermitsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.RenewPermitsRequest,
      dev.holdfast.v1.RenewPermitsResponse> getRenewPermitsMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.RenewPermitsRequest, dev.holdfast.v1.RenewPermitsResponse> getRenewPermitsMethod;
    if ((getRenewPermitsMethod = SemaphoreServiceGrpc.getRenewPermitsMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getRenewPermitsMethod = SemaphoreServiceGrpc.getRenewPermitsMethod) == null) {
          SemaphoreServiceGrpc.getRenewPermitsMethod = getRenewPermitsMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.RenewPermitsRequest, dev.holdfast.v1.RenewPermitsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RenewPermits"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RenewPermitsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RenewPermitsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("RenewPermits"))
              .build();
        }
      }
    }
    return getRenewPermitsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.ReleasePermitsRequest,
      dev.holdfast.v1.ReleasePermitsResponse> getReleasePermitsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReleasePermits",
      requestType = dev.holdfast.v1.ReleasePermitsRequest.class,
      responseType = dev.holdfast.v1.ReleasePermitsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.ReleasePermitsRequest,
      dev.holdfast.v1.ReleasePermitsResponse> getReleasePermitsMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.ReleasePermitsRequest, dev.holdfast.v1.ReleasePermitsResponse> getReleasePermitsMethod;
    if ((getReleasePermitsMethod = SemaphoreServiceGrpc.getReleasePermitsMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getReleasePermitsMethod = SemaphoreServiceGrpc.getReleasePermitsMethod) == null) {
          SemaphoreServiceGrpc.getReleasePermitsMethod = getReleasePermitsMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.ReleasePermitsRequest, dev.holdfast.v1.ReleasePermitsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReleasePermits"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ReleasePermitsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ReleasePermitsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("ReleasePermits"))
              .build();
        }
      }
    }
    return getReleasePermitsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.HoldPermitsRequest,
      dev.holdfast.v1.HoldPermitsResponse> getHoldPermitsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "HoldPermits",
      requestType = dev.holdfast.v1.HoldPermitsRequest.class,
      responseType = dev.holdfast.v1.HoldPermitsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.HoldPermitsRequest,
      dev.holdfast.v1.HoldPermitsResponse> getHoldPermitsMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.HoldPermitsRequest, dev.holdfast.v1.HoldPermitsResponse> getHoldPermitsMethod;
    if ((getHoldPermitsMethod = SemaphoreServiceGrpc.getHoldPermitsMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getHoldPermitsMethod = SemaphoreServiceGrpc.getHoldPermitsMethod) == null) {
          SemaphoreServiceGrpc.getHoldPermitsMethod = getHoldPermitsMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.HoldPermitsRequest, dev.holdfast.v1.HoldPermitsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "HoldPermits"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.HoldPermitsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.HoldPermitsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("HoldPermits"))
              .build();
        }
      }
    }
    return getHoldPermitsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.SetSemaphoreLimitRequest,
      dev.holdfast.v1.SetSemaphoreLimitResponse> getSetSemaphoreLimitMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetSemaphoreLimit",
      requestType = dev.holdfast.v1.SetSemaphoreLimitRequest.class,
      responseType = dev.holdfast.v1.SetSemaphoreLimitResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.SetSemaphoreLimitRequest,
      dev.holdfast.v1.SetSemaphoreLimitResponse> getSetSemaphoreLimitMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.SetSemaphoreLimitRequest, dev.holdfast.v1.SetSemaphoreLimitResponse> getSetSemaphoreLimitMethod;
    if ((getSetSemaphoreLimitMethod = SemaphoreServiceGrpc.getSetSemaphoreLimitMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getSetSemaphoreLimitMethod = SemaphoreServiceGrpc.getSetSemaphoreLimitMethod) == null) {
          SemaphoreServiceGrpc.getSetSemaphoreLimitMethod = getSetSemaphoreLimitMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.SetSemaphoreLimitRequest, dev.holdfast.v1.SetSemaphoreLimitResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetSemaphoreLimit"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.SetSemaphoreLimitRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.SetSemaphoreLimitResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("SetSemaphoreLimit"))
              .build();
        }
      }
    }
    return getSetSemaphoreLimitMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.GetSemaphoreRequest,
      dev.holdfast.v1.GetSemaphoreResponse> getGetSemaphoreMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetSemaphore",
      requestType = dev.holdfast.v1.GetSemaphoreRequest.class,
      responseType = dev.holdfast.v1.GetSemaphoreResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.GetSemaphoreRequest,
      dev.holdfast.v1.GetSemaphoreResponse> getGetSemaphoreMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.GetSemaphoreRequest, dev.holdfast.v1.GetSemaphoreResponse> getGetSemaphoreMethod;
    if ((getGetSemaphoreMethod = SemaphoreServiceGrpc.getGetSemaphoreMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getGetSemaphoreMethod = SemaphoreServiceGrpc.getGetSemaphoreMethod) == null) {
          SemaphoreServiceGrpc.getGetSemaphoreMethod = getGetSemaphoreMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.GetSemaphoreRequest, dev.holdfast.v1.GetSemaphoreResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetSemaphore"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.GetSemaphoreRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.GetSemaphoreResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("GetSemaphore"))
              .build();
        }
      }
    }
    return getGetSemaphoreMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteSemaphoreRequest,
      dev.holdfast.v1.DeleteSemaphoreResponse> getDeleteSemaphoreMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteSemaphore",
      requestType = dev.holdfast.v1.DeleteSemaphoreRequest.class,
      responseType = dev.holdfast.v1.DeleteSemaphoreResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteSemaphoreRequest,
      dev.holdfast.v1.DeleteSemaphoreResponse> getDeleteSemaphoreMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteSemaphoreRequest, dev.holdfast.v1.DeleteSemaphoreResponse> getDeleteSemaphoreMethod;
    if ((getDeleteSemaphoreMethod = SemaphoreServiceGrpc.getDeleteSemaphoreMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getDeleteSemaphoreMethod = SemaphoreServiceGrpc.getDeleteSemaphoreMethod) == null) {
          SemaphoreServiceGrpc.getDeleteSemaphoreMethod = getDeleteSemaphoreMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.DeleteSemaphoreRequest, dev.holdfast.v1.DeleteSemaphoreResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteSemaphore"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.DeleteSemaphoreRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.DeleteSemaphoreResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("DeleteSemaphore"))
              .build();
        }
      }
    }
    return getDeleteSemaphoreMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.ListSemaphoresRequest,
      dev.holdfast.v1.ListSemaphoresResponse> getListSemaphoresMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListSemaphores",
      requestType = dev.holdfast.v1.ListSemaphoresRequest.class,
      responseType = dev.holdfast.v1.ListSemaphoresResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.ListSemaphoresRequest,
      dev.holdfast.v1.ListSemaphoresResponse> getListSemaphoresMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.ListSemaphoresRequest, dev.holdfast.v1.ListSemaphoresResponse> getListSemaphoresMethod;
    if ((getListSemaphoresMethod = SemaphoreServiceGrpc.getListSemaphoresMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getListSemaphoresMethod = SemaphoreServiceGrpc.getListSemaphoresMethod) == null) {
          SemaphoreServiceGrpc.getListSemaphoresMethod = getListSemaphoresMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.ListSemaphoresRequest, dev.holdfast.v1.ListSemaphoresResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListSemaphores"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListSemaphoresRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListSemaphoresResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("ListSemaphores"))
              .build();
        }
      }
    }
    return getListSemaphoresMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.WatchSemaphoreRequest,
      dev.holdfast.v1.WatchSemaphoreResponse> getWatchSemaphoreMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchSemaphore",
      requestType = dev.holdfast.v1.WatchSemaphoreRequest.class,
      responseType = dev.holdfast.v1.WatchSemaphoreResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.WatchSemaphoreRequest,
      dev.holdfast.v1.WatchSemaphoreResponse> getWatchSemaphoreMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.WatchSemaphoreRequest, dev.holdfast.v1.WatchSemaphoreResponse> getWatchSemaphoreMethod;
    if ((getWatchSemaphoreMethod = SemaphoreServiceGrpc.getWatchSemaphoreMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getWatchSemaphoreMethod = SemaphoreServiceGrpc.getWatchSemaphoreMethod) == null) {
          SemaphoreServiceGrpc.getWatchSemaphoreMethod = getWatchSemaphoreMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.WatchSemaphoreRequest, dev.holdfast.v1.WatchSemaphoreResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchSemaphore"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.WatchSemaphoreRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.WatchSemaphoreResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("WatchSemaphore"))
              .build();
        }
      }
    }
    return getWatchSemaphoreMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.RevokePermitsRequest,
      dev.holdfast.v1.RevokePermitsResponse> getRevokePermitsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RevokePermits",
      requestType = dev.holdfast.v1.RevokePermitsRequest.class,
      responseType = dev.holdfast.v1.RevokePermitsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.RevokePermitsRequest,
      dev.holdfast.v1.RevokePermitsResponse> getRevokePermitsMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.RevokePermitsRequest, dev.holdfast.v1.RevokePermitsResponse> getRevokePermitsMethod;
    if ((getRevokePermitsMethod = SemaphoreServiceGrpc.getRevokePermitsMethod) == null) {
      synchronized (SemaphoreServiceGrpc.class) {
        if ((getRevokePermitsMethod = SemaphoreServiceGrpc.getRevokePermitsMethod) == null) {
          SemaphoreServiceGrpc.getRevokePermitsMethod = getRevokePermitsMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.RevokePermitsRequest, dev.holdfast.v1.RevokePermitsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RevokePermits"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RevokePermitsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RevokePermitsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SemaphoreServiceMethodDescriptorSupplier("RevokePermits"))
              .build();
        }
      }
    }
    return getRevokePermitsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SemaphoreServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SemaphoreServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SemaphoreServiceStub>() {
        @java.lang.Override
        public SemaphoreServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SemaphoreServiceStub(channel, callOptions);
        }
      };
    return SemaphoreServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SemaphoreServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SemaphoreServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SemaphoreServiceBlockingStub>() {
        @java.lang.Override
        public SemaphoreServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SemaphoreServiceBlockingStub(channel, callOptions);
        }
      };
    return SemaphoreServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SemaphoreServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SemaphoreServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SemaphoreServiceFutureStub>() {
        @java.lang.Override
        public SemaphoreServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SemaphoreServiceFutureStub(channel, callOptions);
        }
      };
    return SemaphoreServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Counting semaphores by name. At every grant, the permits of all leases together are at most the limit
   * in force. Each lease has its own `ttl`, so the permits of a crashed holder come back. All waiters of a
   * name wait in one queue. The first waiter is always granted first, so small requests never starve a
   * large request.
   * SetSemaphoreLimit creates a semaphore that stays until it is deleted. A request with an
   * `initial_limit` creates a semaphore that the store forgets after it was idle for a while.
   * LockService describes leases, retries, streams and errors; all of that applies to semaphores too. The
   * fencing tokens of a semaphore distinguish its leases. They do not order the writes of its holders,
   * because several leases are held at the same time.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Acquires permits: all requested permits together, or none. Waits in the queue for up to
     * `wait_timeout`, and no longer than the call's deadline. See LockService.AcquireLock for leases and
     * retries.
     * Errors:
     *   - NEVER_FITS: immediately if `permit_count` is above the limit, or during the wait, if the limit is
     *     lowered below `permit_count`.
     *   - NO_SUCH_SEMAPHORE: the semaphore does not exist and `initial_limit` is unset, or the semaphore was
     *     deleted during the wait.
     *   - LEASE_LOST: an operator has revoked the waiting request.
     *   - INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, SUPERSEDED, REQUEST_FINISHED, QUEUE_FULL,
     *     QUOTA_EXCEEDED, STORE_FULL, QUARANTINED.
     * </pre>
     */
    default void acquirePermits(dev.holdfast.v1.AcquirePermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.AcquirePermitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAcquirePermitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Renews a lease: the lease lives for its `ttl` from now on. A renewal never brings the end of a lease
     * nearer, and never restores an ended lease. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (only shortly before the end of the lease, after
     * a failover of the store).
     * </pre>
     */
    default void renewPermits(dev.holdfast.v1.RenewPermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RenewPermitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenewPermitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Releases a lease with all its permits, and grants the first waiters in the queue immediately.
     * Idempotent. Never changes another lease. An ended lease is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void releasePermits(dev.holdfast.v1.ReleasePermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ReleasePermitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReleasePermitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Acquires permits, and keeps the permits as long as the stream is open: the server renews the lease,
     * and sends `lost` immediately when the lease is lost. Call HoldPermits without a deadline. See
     * LockService.HoldLock, which has the same events.
     * Errors: those of AcquirePermits; LEASE_LOST, LEASE_NOT_HELD (attach to an ended lease), REATTACH.
     * </pre>
     */
    default void holdPermits(dev.holdfast.v1.HoldPermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.HoldPermitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getHoldPermitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets the limit. Creates the semaphore if it does not exist. The semaphore then stays until it is
     * deleted.
     * A higher limit grants waiters immediately. A lower limit takes no permit from a holder: nothing is
     * granted until the held permits are within the new limit (`overcommitted_count` shows the excess).
     * Waiters that ask for more permits than the new limit end with NEVER_FITS. Limit 0 pauses the
     * semaphore: all requests wait, and no request ends with NEVER_FITS.
     * With `paused` instead of `limit`, the limit becomes 0 and the store keeps the limit from before, or
     * the kept limit is in force again.
     * Idempotent: if the limit is already in force, the answer is OK, also if `expected_limit` differs. So
     * a retry after a lost answer is harmless, unless another caller has set another limit meanwhile. Set
     * `expected_limit` if that can happen.
     * OK means that the limit has reached the number of replicas that the store's master requires, so a
     * failover of the store does not undo the limit. If the replicas do not confirm the limit in time, the
     * call ends with OUTCOME_UNKNOWN. Then the limit is in force, but a failover may restore the old
     * limit. Retry until OK.
     * Errors: INVALID_FIELD, LIMIT_MISMATCH, NO_SUCH_SEMAPHORE (`expected_limit` or `paused` is set, and the
     * semaphore does not exist), OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    default void setSemaphoreLimit(dev.holdfast.v1.SetSemaphoreLimitRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SetSemaphoreLimitResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetSemaphoreLimitMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads the limit, the holders and the waiters. The answer may be out of date on arrival. Changes
     * nothing.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE.
     * </pre>
     */
    default void getSemaphore(dev.holdfast.v1.GetSemaphoreRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.GetSemaphoreResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetSemaphoreMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a semaphore without holders and waiters; with `force`, any semaphore. After a forced
     * deletion, waiters end with NO_SUCH_SEMAPHORE, and hold streams end immediately with a lost lease of
     * cause REVOKED. The name can be used again immediately, so only the fencing token protects the work of
     * the revoked leases.
     * Idempotent: a retry within a minute answers OK, and a later retry answers NO_SUCH_SEMAPHORE. If the
     * semaphore was created again meanwhile, a retry deletes the new semaphore: call GetSemaphore first.
     * After OK and NO_SUCH_SEMAPHORE, a failover of the store does not undo the deletion, as for
     * SetSemaphoreLimit. After OUTCOME_UNKNOWN, a failover may restore the semaphore. Retry.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, SEMAPHORE_IN_USE, OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    default void deleteSemaphore(dev.holdfast.v1.DeleteSemaphoreRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteSemaphoreResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteSemaphoreMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the semaphores, in pages. Names that change during the listing may be missing or appear in
     * their new state. A page may have fewer semaphores than `page_size`, or none, and still have a next
     * page. Semaphores that the caller may not read are left out. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void listSemaphores(dev.holdfast.v1.ListSemaphoresRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListSemaphoresResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListSemaphoresMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sends the state of the semaphore immediately, and again after each change: grants, ends of leases,
     * revocations, the queue, limits, metadata. A renewal is not a change. A slow reader gets the latest
     * state, not each state in between. While the store cannot be reached, the watch waits. Then the watch
     * continues. The watch of an unknown or deleted semaphore ends with NO_SUCH_SEMAPHORE.
     * The server usually sends a change within 250 milliseconds, and otherwise within about a second. A
     * state is for display and for routing, never a reason to enter the critical section.
     * The stream ends with REATTACH at the stream age in GetServerInfo. Then open the next stream.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, QUOTA_EXCEEDED, REATTACH.
     * </pre>
     */
    default void watchSemaphore(dev.holdfast.v1.WatchSemaphoreRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.WatchSemaphoreResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchSemaphoreMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes leases away from their holders, or a waiter out of the queue. For operators.
     * Without `force`, the lease can no longer be renewed, and its hold stream ends immediately with `lost`
     * and cause REVOKED. The permits stay taken until the lease ends (`free_time`), because the holder may
     * work until then. A release by the holder ends the lease earlier.
     * With `force`, the next waiter is granted immediately. From then on only the fencing token protects the
     * work of the revoked holder.
     * A revoked waiter leaves the queue immediately, and does not return to the queue. The waiting call
     * ends with LEASE_LOST and cause REVOKED when its server learns of the revocation. The server usually
     * learns of the revocation immediately. Otherwise the server learns of the revocation when the server
     * reaches the store again and grants do not pause. GetSemaphore shows a request as a holder even before
     * its client is told of the grant. If such a request is revoked, its call ends in the same way, and its
     * permits are free before the end of the lease.
     * Idempotent without `force`, except for waiters and for grants that no client was told of. A repeated
     * call may answer a lower count, because leases or waits have ended. After OUTCOME_UNKNOWN some leases
     * or waiters may be revoked. Repeat the call until the answer is not OUTCOME_UNKNOWN. If this answer
     * has the count 0, the first call may have done the work. RevokePermits also works while the store
     * grants nothing (QUARANTINED).
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, OUTCOME_UNKNOWN (repeat the call).
     * </pre>
     */
    default void revokePermits(dev.holdfast.v1.RevokePermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RevokePermitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRevokePermitsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SemaphoreService.
   * <pre>
   * Counting semaphores by name. At every grant, the permits of all leases together are at most the limit
   * in force. Each lease has its own `ttl`, so the permits of a crashed holder come back. All waiters of a
   * name wait in one queue. The first waiter is always granted first, so small requests never starve a
   * large request.
   * SetSemaphoreLimit creates a semaphore that stays until it is deleted. A request with an
   * `initial_limit` creates a semaphore that the store forgets after it was idle for a while.
   * LockService describes leases, retries, streams and errors; all of that applies to semaphores too. The
   * fencing tokens of a semaphore distinguish its leases. They do not order the writes of its holders,
   * because several leases are held at the same time.
   * </pre>
   */
  public static abstract class SemaphoreServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SemaphoreServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SemaphoreService.
   * <pre>
   * Counting semaphores by name. At every grant, the permits of all leases together are at most the limit
   * in force. Each lease has its own `ttl`, so the permits of a crashed holder come back. All waiters of a
   * name wait in one queue. The first waiter is always granted first, so small requests never starve a
   * large request.
   * SetSemaphoreLimit creates a semaphore that stays until it is deleted. A request with an
   * `initial_limit` creates a semaphore that the store forgets after it was idle for a while.
   * LockService describes leases, retries, streams and errors; all of that applies to semaphores too. The
   * fencing tokens of a semaphore distinguish its leases. They do not order the writes of its holders,
   * because several leases are held at the same time.
   * </pre>
   */
  public static final class SemaphoreServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SemaphoreServiceStub> {
    private SemaphoreServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SemaphoreServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SemaphoreServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Acquires permits: all requested permits together, or none. Waits in the queue for up to
     * `wait_timeout`, and no longer than the call's deadline. See LockService.AcquireLock for leases and
     * retries.
     * Errors:
     *   - NEVER_FITS: immediately if `permit_count` is above the limit, or during the wait, if the limit is
     *     lowered below `permit_count`.
     *   - NO_SUCH_SEMAPHORE: the semaphore does not exist and `initial_limit` is unset, or the semaphore was
     *     deleted during the wait.
     *   - LEASE_LOST: an operator has revoked the waiting request.
     *   - INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, SUPERSEDED, REQUEST_FINISHED, QUEUE_FULL,
     *     QUOTA_EXCEEDED, STORE_FULL, QUARANTINED.
     * </pre>
     */
    public void acquirePermits(dev.holdfast.v1.AcquirePermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.AcquirePermitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAcquirePermitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Renews a lease: the lease lives for its `ttl` from now on. A renewal never brings the end of a lease
     * nearer, and never restores an ended lease. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (only shortly before the end of the lease, after
     * a failover of the store).
     * </pre>
     */
    public void renewPermits(dev.holdfast.v1.RenewPermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RenewPermitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenewPermitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Releases a lease with all its permits, and grants the first waiters in the queue immediately.
     * Idempotent. Never changes another lease. An ended lease is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void releasePermits(dev.holdfast.v1.ReleasePermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ReleasePermitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReleasePermitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Acquires permits, and keeps the permits as long as the stream is open: the server renews the lease,
     * and sends `lost` immediately when the lease is lost. Call HoldPermits without a deadline. See
     * LockService.HoldLock, which has the same events.
     * Errors: those of AcquirePermits; LEASE_LOST, LEASE_NOT_HELD (attach to an ended lease), REATTACH.
     * </pre>
     */
    public void holdPermits(dev.holdfast.v1.HoldPermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.HoldPermitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getHoldPermitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets the limit. Creates the semaphore if it does not exist. The semaphore then stays until it is
     * deleted.
     * A higher limit grants waiters immediately. A lower limit takes no permit from a holder: nothing is
     * granted until the held permits are within the new limit (`overcommitted_count` shows the excess).
     * Waiters that ask for more permits than the new limit end with NEVER_FITS. Limit 0 pauses the
     * semaphore: all requests wait, and no request ends with NEVER_FITS.
     * With `paused` instead of `limit`, the limit becomes 0 and the store keeps the limit from before, or
     * the kept limit is in force again.
     * Idempotent: if the limit is already in force, the answer is OK, also if `expected_limit` differs. So
     * a retry after a lost answer is harmless, unless another caller has set another limit meanwhile. Set
     * `expected_limit` if that can happen.
     * OK means that the limit has reached the number of replicas that the store's master requires, so a
     * failover of the store does not undo the limit. If the replicas do not confirm the limit in time, the
     * call ends with OUTCOME_UNKNOWN. Then the limit is in force, but a failover may restore the old
     * limit. Retry until OK.
     * Errors: INVALID_FIELD, LIMIT_MISMATCH, NO_SUCH_SEMAPHORE (`expected_limit` or `paused` is set, and the
     * semaphore does not exist), OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    public void setSemaphoreLimit(dev.holdfast.v1.SetSemaphoreLimitRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SetSemaphoreLimitResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetSemaphoreLimitMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads the limit, the holders and the waiters. The answer may be out of date on arrival. Changes
     * nothing.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE.
     * </pre>
     */
    public void getSemaphore(dev.holdfast.v1.GetSemaphoreRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.GetSemaphoreResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetSemaphoreMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a semaphore without holders and waiters; with `force`, any semaphore. After a forced
     * deletion, waiters end with NO_SUCH_SEMAPHORE, and hold streams end immediately with a lost lease of
     * cause REVOKED. The name can be used again immediately, so only the fencing token protects the work of
     * the revoked leases.
     * Idempotent: a retry within a minute answers OK, and a later retry answers NO_SUCH_SEMAPHORE. If the
     * semaphore was created again meanwhile, a retry deletes the new semaphore: call GetSemaphore first.
     * After OK and NO_SUCH_SEMAPHORE, a failover of the store does not undo the deletion, as for
     * SetSemaphoreLimit. After OUTCOME_UNKNOWN, a failover may restore the semaphore. Retry.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, SEMAPHORE_IN_USE, OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    public void deleteSemaphore(dev.holdfast.v1.DeleteSemaphoreRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteSemaphoreResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteSemaphoreMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the semaphores, in pages. Names that change during the listing may be missing or appear in
     * their new state. A page may have fewer semaphores than `page_size`, or none, and still have a next
     * page. Semaphores that the caller may not read are left out. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void listSemaphores(dev.holdfast.v1.ListSemaphoresRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListSemaphoresResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListSemaphoresMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sends the state of the semaphore immediately, and again after each change: grants, ends of leases,
     * revocations, the queue, limits, metadata. A renewal is not a change. A slow reader gets the latest
     * state, not each state in between. While the store cannot be reached, the watch waits. Then the watch
     * continues. The watch of an unknown or deleted semaphore ends with NO_SUCH_SEMAPHORE.
     * The server usually sends a change within 250 milliseconds, and otherwise within about a second. A
     * state is for display and for routing, never a reason to enter the critical section.
     * The stream ends with REATTACH at the stream age in GetServerInfo. Then open the next stream.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, QUOTA_EXCEEDED, REATTACH.
     * </pre>
     */
    public void watchSemaphore(dev.holdfast.v1.WatchSemaphoreRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.WatchSemaphoreResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchSemaphoreMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes leases away from their holders, or a waiter out of the queue. For operators.
     * Without `force`, the lease can no longer be renewed, and its hold stream ends immediately with `lost`
     * and cause REVOKED. The permits stay taken until the lease ends (`free_time`), because the holder may
     * work until then. A release by the holder ends the lease earlier.
     * With `force`, the next waiter is granted immediately. From then on only the fencing token protects the
     * work of the revoked holder.
     * A revoked waiter leaves the queue immediately, and does not return to the queue. The waiting call
     * ends with LEASE_LOST and cause REVOKED when its server learns of the revocation. The server usually
     * learns of the revocation immediately. Otherwise the server learns of the revocation when the server
     * reaches the store again and grants do not pause. GetSemaphore shows a request as a holder even before
     * its client is told of the grant. If such a request is revoked, its call ends in the same way, and its
     * permits are free before the end of the lease.
     * Idempotent without `force`, except for waiters and for grants that no client was told of. A repeated
     * call may answer a lower count, because leases or waits have ended. After OUTCOME_UNKNOWN some leases
     * or waiters may be revoked. Repeat the call until the answer is not OUTCOME_UNKNOWN. If this answer
     * has the count 0, the first call may have done the work. RevokePermits also works while the store
     * grants nothing (QUARANTINED).
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, OUTCOME_UNKNOWN (repeat the call).
     * </pre>
     */
    public void revokePermits(dev.holdfast.v1.RevokePermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RevokePermitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRevokePermitsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SemaphoreService.
   * <pre>
   * Counting semaphores by name. At every grant, the permits of all leases together are at most the limit
   * in force. Each lease has its own `ttl`, so the permits of a crashed holder come back. All waiters of a
   * name wait in one queue. The first waiter is always granted first, so small requests never starve a
   * large request.
   * SetSemaphoreLimit creates a semaphore that stays until it is deleted. A request with an
   * `initial_limit` creates a semaphore that the store forgets after it was idle for a while.
   * LockService describes leases, retries, streams and errors; all of that applies to semaphores too. The
   * fencing tokens of a semaphore distinguish its leases. They do not order the writes of its holders,
   * because several leases are held at the same time.
   * </pre>
   */
  public static final class SemaphoreServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SemaphoreServiceBlockingStub> {
    private SemaphoreServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SemaphoreServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SemaphoreServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Acquires permits: all requested permits together, or none. Waits in the queue for up to
     * `wait_timeout`, and no longer than the call's deadline. See LockService.AcquireLock for leases and
     * retries.
     * Errors:
     *   - NEVER_FITS: immediately if `permit_count` is above the limit, or during the wait, if the limit is
     *     lowered below `permit_count`.
     *   - NO_SUCH_SEMAPHORE: the semaphore does not exist and `initial_limit` is unset, or the semaphore was
     *     deleted during the wait.
     *   - LEASE_LOST: an operator has revoked the waiting request.
     *   - INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, SUPERSEDED, REQUEST_FINISHED, QUEUE_FULL,
     *     QUOTA_EXCEEDED, STORE_FULL, QUARANTINED.
     * </pre>
     */
    public dev.holdfast.v1.AcquirePermitsResponse acquirePermits(dev.holdfast.v1.AcquirePermitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAcquirePermitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Renews a lease: the lease lives for its `ttl` from now on. A renewal never brings the end of a lease
     * nearer, and never restores an ended lease. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (only shortly before the end of the lease, after
     * a failover of the store).
     * </pre>
     */
    public dev.holdfast.v1.RenewPermitsResponse renewPermits(dev.holdfast.v1.RenewPermitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenewPermitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Releases a lease with all its permits, and grants the first waiters in the queue immediately.
     * Idempotent. Never changes another lease. An ended lease is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.ReleasePermitsResponse releasePermits(dev.holdfast.v1.ReleasePermitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReleasePermitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Acquires permits, and keeps the permits as long as the stream is open: the server renews the lease,
     * and sends `lost` immediately when the lease is lost. Call HoldPermits without a deadline. See
     * LockService.HoldLock, which has the same events.
     * Errors: those of AcquirePermits; LEASE_LOST, LEASE_NOT_HELD (attach to an ended lease), REATTACH.
     * </pre>
     */
    public java.util.Iterator<dev.holdfast.v1.HoldPermitsResponse> holdPermits(
        dev.holdfast.v1.HoldPermitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getHoldPermitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the limit. Creates the semaphore if it does not exist. The semaphore then stays until it is
     * deleted.
     * A higher limit grants waiters immediately. A lower limit takes no permit from a holder: nothing is
     * granted until the held permits are within the new limit (`overcommitted_count` shows the excess).
     * Waiters that ask for more permits than the new limit end with NEVER_FITS. Limit 0 pauses the
     * semaphore: all requests wait, and no request ends with NEVER_FITS.
     * With `paused` instead of `limit`, the limit becomes 0 and the store keeps the limit from before, or
     * the kept limit is in force again.
     * Idempotent: if the limit is already in force, the answer is OK, also if `expected_limit` differs. So
     * a retry after a lost answer is harmless, unless another caller has set another limit meanwhile. Set
     * `expected_limit` if that can happen.
     * OK means that the limit has reached the number of replicas that the store's master requires, so a
     * failover of the store does not undo the limit. If the replicas do not confirm the limit in time, the
     * call ends with OUTCOME_UNKNOWN. Then the limit is in force, but a failover may restore the old
     * limit. Retry until OK.
     * Errors: INVALID_FIELD, LIMIT_MISMATCH, NO_SUCH_SEMAPHORE (`expected_limit` or `paused` is set, and the
     * semaphore does not exist), OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    public dev.holdfast.v1.SetSemaphoreLimitResponse setSemaphoreLimit(dev.holdfast.v1.SetSemaphoreLimitRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetSemaphoreLimitMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the limit, the holders and the waiters. The answer may be out of date on arrival. Changes
     * nothing.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE.
     * </pre>
     */
    public dev.holdfast.v1.GetSemaphoreResponse getSemaphore(dev.holdfast.v1.GetSemaphoreRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetSemaphoreMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a semaphore without holders and waiters; with `force`, any semaphore. After a forced
     * deletion, waiters end with NO_SUCH_SEMAPHORE, and hold streams end immediately with a lost lease of
     * cause REVOKED. The name can be used again immediately, so only the fencing token protects the work of
     * the revoked leases.
     * Idempotent: a retry within a minute answers OK, and a later retry answers NO_SUCH_SEMAPHORE. If the
     * semaphore was created again meanwhile, a retry deletes the new semaphore: call GetSemaphore first.
     * After OK and NO_SUCH_SEMAPHORE, a failover of the store does not undo the deletion, as for
     * SetSemaphoreLimit. After OUTCOME_UNKNOWN, a failover may restore the semaphore. Retry.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, SEMAPHORE_IN_USE, OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    public dev.holdfast.v1.DeleteSemaphoreResponse deleteSemaphore(dev.holdfast.v1.DeleteSemaphoreRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteSemaphoreMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the semaphores, in pages. Names that change during the listing may be missing or appear in
     * their new state. A page may have fewer semaphores than `page_size`, or none, and still have a next
     * page. Semaphores that the caller may not read are left out. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.ListSemaphoresResponse listSemaphores(dev.holdfast.v1.ListSemaphoresRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListSemaphoresMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the state of the semaphore immediately, and again after each change: grants, ends of leases,
     * revocations, the queue, limits, metadata. A renewal is not a change. A slow reader gets the latest
     * state, not each state in between. While the store cannot be reached, the watch waits. Then the watch
     * continues. The watch of an unknown or deleted semaphore ends with NO_SUCH_SEMAPHORE.
     * The server usually sends a change within 250 milliseconds, and otherwise within about a second. A
     * state is for display and for routing, never a reason to enter the critical section.
     * The stream ends with REATTACH at the stream age in GetServerInfo. Then open the next stream.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, QUOTA_EXCEEDED, REATTACH.
     * </pre>
     */
    public java.util.Iterator<dev.holdfast.v1.WatchSemaphoreResponse> watchSemaphore(
        dev.holdfast.v1.WatchSemaphoreRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchSemaphoreMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes leases away from their holders, or a waiter out of the queue. For operators.
     * Without `force`, the lease can no longer be renewed, and its hold stream ends immediately with `lost`
     * and cause REVOKED. The permits stay taken until the lease ends (`free_time`), because the holder may
     * work until then. A release by the holder ends the lease earlier.
     * With `force`, the next waiter is granted immediately. From then on only the fencing token protects the
     * work of the revoked holder.
     * A revoked waiter leaves the queue immediately, and does not return to the queue. The waiting call
     * ends with LEASE_LOST and cause REVOKED when its server learns of the revocation. The server usually
     * learns of the revocation immediately. Otherwise the server learns of the revocation when the server
     * reaches the store again and grants do not pause. GetSemaphore shows a request as a holder even before
     * its client is told of the grant. If such a request is revoked, its call ends in the same way, and its
     * permits are free before the end of the lease.
     * Idempotent without `force`, except for waiters and for grants that no client was told of. A repeated
     * call may answer a lower count, because leases or waits have ended. After OUTCOME_UNKNOWN some leases
     * or waiters may be revoked. Repeat the call until the answer is not OUTCOME_UNKNOWN. If this answer
     * has the count 0, the first call may have done the work. RevokePermits also works while the store
     * grants nothing (QUARANTINED).
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, OUTCOME_UNKNOWN (repeat the call).
     * </pre>
     */
    public dev.holdfast.v1.RevokePermitsResponse revokePermits(dev.holdfast.v1.RevokePermitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRevokePermitsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SemaphoreService.
   * <pre>
   * Counting semaphores by name. At every grant, the permits of all leases together are at most the limit
   * in force. Each lease has its own `ttl`, so the permits of a crashed holder come back. All waiters of a
   * name wait in one queue. The first waiter is always granted first, so small requests never starve a
   * large request.
   * SetSemaphoreLimit creates a semaphore that stays until it is deleted. A request with an
   * `initial_limit` creates a semaphore that the store forgets after it was idle for a while.
   * LockService describes leases, retries, streams and errors; all of that applies to semaphores too. The
   * fencing tokens of a semaphore distinguish its leases. They do not order the writes of its holders,
   * because several leases are held at the same time.
   * </pre>
   */
  public static final class SemaphoreServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SemaphoreServiceFutureStub> {
    private SemaphoreServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SemaphoreServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SemaphoreServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Acquires permits: all requested permits together, or none. Waits in the queue for up to
     * `wait_timeout`, and no longer than the call's deadline. See LockService.AcquireLock for leases and
     * retries.
     * Errors:
     *   - NEVER_FITS: immediately if `permit_count` is above the limit, or during the wait, if the limit is
     *     lowered below `permit_count`.
     *   - NO_SUCH_SEMAPHORE: the semaphore does not exist and `initial_limit` is unset, or the semaphore was
     *     deleted during the wait.
     *   - LEASE_LOST: an operator has revoked the waiting request.
     *   - INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, SUPERSEDED, REQUEST_FINISHED, QUEUE_FULL,
     *     QUOTA_EXCEEDED, STORE_FULL, QUARANTINED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.AcquirePermitsResponse> acquirePermits(
        dev.holdfast.v1.AcquirePermitsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAcquirePermitsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Renews a lease: the lease lives for its `ttl` from now on. A renewal never brings the end of a lease
     * nearer, and never restores an ended lease. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (only shortly before the end of the lease, after
     * a failover of the store).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.RenewPermitsResponse> renewPermits(
        dev.holdfast.v1.RenewPermitsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenewPermitsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Releases a lease with all its permits, and grants the first waiters in the queue immediately.
     * Idempotent. Never changes another lease. An ended lease is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.ReleasePermitsResponse> releasePermits(
        dev.holdfast.v1.ReleasePermitsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReleasePermitsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets the limit. Creates the semaphore if it does not exist. The semaphore then stays until it is
     * deleted.
     * A higher limit grants waiters immediately. A lower limit takes no permit from a holder: nothing is
     * granted until the held permits are within the new limit (`overcommitted_count` shows the excess).
     * Waiters that ask for more permits than the new limit end with NEVER_FITS. Limit 0 pauses the
     * semaphore: all requests wait, and no request ends with NEVER_FITS.
     * With `paused` instead of `limit`, the limit becomes 0 and the store keeps the limit from before, or
     * the kept limit is in force again.
     * Idempotent: if the limit is already in force, the answer is OK, also if `expected_limit` differs. So
     * a retry after a lost answer is harmless, unless another caller has set another limit meanwhile. Set
     * `expected_limit` if that can happen.
     * OK means that the limit has reached the number of replicas that the store's master requires, so a
     * failover of the store does not undo the limit. If the replicas do not confirm the limit in time, the
     * call ends with OUTCOME_UNKNOWN. Then the limit is in force, but a failover may restore the old
     * limit. Retry until OK.
     * Errors: INVALID_FIELD, LIMIT_MISMATCH, NO_SUCH_SEMAPHORE (`expected_limit` or `paused` is set, and the
     * semaphore does not exist), OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.SetSemaphoreLimitResponse> setSemaphoreLimit(
        dev.holdfast.v1.SetSemaphoreLimitRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetSemaphoreLimitMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads the limit, the holders and the waiters. The answer may be out of date on arrival. Changes
     * nothing.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.GetSemaphoreResponse> getSemaphore(
        dev.holdfast.v1.GetSemaphoreRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetSemaphoreMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a semaphore without holders and waiters; with `force`, any semaphore. After a forced
     * deletion, waiters end with NO_SUCH_SEMAPHORE, and hold streams end immediately with a lost lease of
     * cause REVOKED. The name can be used again immediately, so only the fencing token protects the work of
     * the revoked leases.
     * Idempotent: a retry within a minute answers OK, and a later retry answers NO_SUCH_SEMAPHORE. If the
     * semaphore was created again meanwhile, a retry deletes the new semaphore: call GetSemaphore first.
     * After OK and NO_SUCH_SEMAPHORE, a failover of the store does not undo the deletion, as for
     * SetSemaphoreLimit. After OUTCOME_UNKNOWN, a failover may restore the semaphore. Retry.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, SEMAPHORE_IN_USE, OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.DeleteSemaphoreResponse> deleteSemaphore(
        dev.holdfast.v1.DeleteSemaphoreRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteSemaphoreMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the semaphores, in pages. Names that change during the listing may be missing or appear in
     * their new state. A page may have fewer semaphores than `page_size`, or none, and still have a next
     * page. Semaphores that the caller may not read are left out. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.ListSemaphoresResponse> listSemaphores(
        dev.holdfast.v1.ListSemaphoresRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListSemaphoresMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes leases away from their holders, or a waiter out of the queue. For operators.
     * Without `force`, the lease can no longer be renewed, and its hold stream ends immediately with `lost`
     * and cause REVOKED. The permits stay taken until the lease ends (`free_time`), because the holder may
     * work until then. A release by the holder ends the lease earlier.
     * With `force`, the next waiter is granted immediately. From then on only the fencing token protects the
     * work of the revoked holder.
     * A revoked waiter leaves the queue immediately, and does not return to the queue. The waiting call
     * ends with LEASE_LOST and cause REVOKED when its server learns of the revocation. The server usually
     * learns of the revocation immediately. Otherwise the server learns of the revocation when the server
     * reaches the store again and grants do not pause. GetSemaphore shows a request as a holder even before
     * its client is told of the grant. If such a request is revoked, its call ends in the same way, and its
     * permits are free before the end of the lease.
     * Idempotent without `force`, except for waiters and for grants that no client was told of. A repeated
     * call may answer a lower count, because leases or waits have ended. After OUTCOME_UNKNOWN some leases
     * or waiters may be revoked. Repeat the call until the answer is not OUTCOME_UNKNOWN. If this answer
     * has the count 0, the first call may have done the work. RevokePermits also works while the store
     * grants nothing (QUARANTINED).
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, OUTCOME_UNKNOWN (repeat the call).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.RevokePermitsResponse> revokePermits(
        dev.holdfast.v1.RevokePermitsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRevokePermitsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ACQUIRE_PERMITS = 0;
  private static final int METHODID_RENEW_PERMITS = 1;
  private static final int METHODID_RELEASE_PERMITS = 2;
  private static final int METHODID_HOLD_PERMITS = 3;
  private static final int METHODID_SET_SEMAPHORE_LIMIT = 4;
  private static final int METHODID_GET_SEMAPHORE = 5;
  private static final int METHODID_DELETE_SEMAPHORE = 6;
  private static final int METHODID_LIST_SEMAPHORES = 7;
  private static final int METHODID_WATCH_SEMAPHORE = 8;
  private static final int METHODID_REVOKE_PERMITS = 9;

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
        case METHODID_ACQUIRE_PERMITS:
          serviceImpl.acquirePermits((dev.holdfast.v1.AcquirePermitsRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.AcquirePermitsResponse>) responseObserver);
          break;
        case METHODID_RENEW_PERMITS:
          serviceImpl.renewPermits((dev.holdfast.v1.RenewPermitsRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.RenewPermitsResponse>) responseObserver);
          break;
        case METHODID_RELEASE_PERMITS:
          serviceImpl.releasePermits((dev.holdfast.v1.ReleasePermitsRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.ReleasePermitsResponse>) responseObserver);
          break;
        case METHODID_HOLD_PERMITS:
          serviceImpl.holdPermits((dev.holdfast.v1.HoldPermitsRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.HoldPermitsResponse>) responseObserver);
          break;
        case METHODID_SET_SEMAPHORE_LIMIT:
          serviceImpl.setSemaphoreLimit((dev.holdfast.v1.SetSemaphoreLimitRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.SetSemaphoreLimitResponse>) responseObserver);
          break;
        case METHODID_GET_SEMAPHORE:
          serviceImpl.getSemaphore((dev.holdfast.v1.GetSemaphoreRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.GetSemaphoreResponse>) responseObserver);
          break;
        case METHODID_DELETE_SEMAPHORE:
          serviceImpl.deleteSemaphore((dev.holdfast.v1.DeleteSemaphoreRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteSemaphoreResponse>) responseObserver);
          break;
        case METHODID_LIST_SEMAPHORES:
          serviceImpl.listSemaphores((dev.holdfast.v1.ListSemaphoresRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.ListSemaphoresResponse>) responseObserver);
          break;
        case METHODID_WATCH_SEMAPHORE:
          serviceImpl.watchSemaphore((dev.holdfast.v1.WatchSemaphoreRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.WatchSemaphoreResponse>) responseObserver);
          break;
        case METHODID_REVOKE_PERMITS:
          serviceImpl.revokePermits((dev.holdfast.v1.RevokePermitsRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.RevokePermitsResponse>) responseObserver);
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
          getAcquirePermitsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.AcquirePermitsRequest,
              dev.holdfast.v1.AcquirePermitsResponse>(
                service, METHODID_ACQUIRE_PERMITS)))
        .addMethod(
          getRenewPermitsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.RenewPermitsRequest,
              dev.holdfast.v1.RenewPermitsResponse>(
                service, METHODID_RENEW_PERMITS)))
        .addMethod(
          getReleasePermitsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.ReleasePermitsRequest,
              dev.holdfast.v1.ReleasePermitsResponse>(
                service, METHODID_RELEASE_PERMITS)))
        .addMethod(
          getHoldPermitsMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.holdfast.v1.HoldPermitsRequest,
              dev.holdfast.v1.HoldPermitsResponse>(
                service, METHODID_HOLD_PERMITS)))
        .addMethod(
          getSetSemaphoreLimitMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.SetSemaphoreLimitRequest,
              dev.holdfast.v1.SetSemaphoreLimitResponse>(
                service, METHODID_SET_SEMAPHORE_LIMIT)))
        .addMethod(
          getGetSemaphoreMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.GetSemaphoreRequest,
              dev.holdfast.v1.GetSemaphoreResponse>(
                service, METHODID_GET_SEMAPHORE)))
        .addMethod(
          getDeleteSemaphoreMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.DeleteSemaphoreRequest,
              dev.holdfast.v1.DeleteSemaphoreResponse>(
                service, METHODID_DELETE_SEMAPHORE)))
        .addMethod(
          getListSemaphoresMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.ListSemaphoresRequest,
              dev.holdfast.v1.ListSemaphoresResponse>(
                service, METHODID_LIST_SEMAPHORES)))
        .addMethod(
          getWatchSemaphoreMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.holdfast.v1.WatchSemaphoreRequest,
              dev.holdfast.v1.WatchSemaphoreResponse>(
                service, METHODID_WATCH_SEMAPHORE)))
        .addMethod(
          getRevokePermitsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.RevokePermitsRequest,
              dev.holdfast.v1.RevokePermitsResponse>(
                service, METHODID_REVOKE_PERMITS)))
        .build();
  }

  private static abstract class SemaphoreServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SemaphoreServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.holdfast.v1.SemaphoreServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SemaphoreService");
    }
  }

  private static final class SemaphoreServiceFileDescriptorSupplier
      extends SemaphoreServiceBaseDescriptorSupplier {
    SemaphoreServiceFileDescriptorSupplier() {}
  }

  private static final class SemaphoreServiceMethodDescriptorSupplier
      extends SemaphoreServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SemaphoreServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (SemaphoreServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SemaphoreServiceFileDescriptorSupplier())
              .addMethod(getAcquirePermitsMethod())
              .addMethod(getRenewPermitsMethod())
              .addMethod(getReleasePermitsMethod())
              .addMethod(getHoldPermitsMethod())
              .addMethod(getSetSemaphoreLimitMethod())
              .addMethod(getGetSemaphoreMethod())
              .addMethod(getDeleteSemaphoreMethod())
              .addMethod(getListSemaphoresMethod())
              .addMethod(getWatchSemaphoreMethod())
              .addMethod(getRevokePermitsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
