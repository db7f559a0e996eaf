package dev.holdfast.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Counting semaphores by name. The permits that leases hold together never exceed the limit in force when
 * the latest of them was granted; each lease has its own time to live, so a crashed holder's permits come
 * back by themselves, however long others ask for. Who must wait has a place in one queue, and whoever is at
 * its head is served first: a request for many permits is not starved by a stream of requests for one.
 * A semaphore comes into being by SetSemaphoreLimit, and then stays until it is deleted; or by the first
 * request that brings an `initial_limit`, and then it is forgotten after a while of idleness.
 * Everything that LockService says of leases, retries, streams and errors holds here too: a lock is a
 * semaphore of one. The fencing tokens of a semaphore tell its leases apart; as several are held at a time,
 * they do not order the holders' writes.
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
   * Counting semaphores by name. The permits that leases hold together never exceed the limit in force when
   * the latest of them was granted; each lease has its own time to live, so a crashed holder's permits come
   * back by themselves, however long others ask for. Who must wait has a place in one queue, and whoever is at
   * its head is served first: a request for many permits is not starved by a stream of requests for one.
   * A semaphore comes into being by SetSemaphoreLimit, and then stays until it is deleted; or by the first
   * request that brings an `initial_limit`, and then it is forgotten after a while of idleness.
   * Everything that LockService says of leases, retries, streams and errors holds here too: a lock is a
   * semaphore of one. The fencing tokens of a semaphore tell its leases apart; as several are held at a time,
   * they do not order the holders' writes.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Takes permits, all of them at once or none, waiting in the queue for as long as `wait_timeout` and the
     * call's deadline allow. As LockService.AcquireLock otherwise.
     * Errors: INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, NEVER_FITS (at once, when more is asked for than the
     * limit, or when it is lowered below that during the wait), NO_SUCH_SEMAPHORE (unknown and no
     * `initial_limit`, or deleted during the wait), SUPERSEDED, REQUEST_FINISHED, QUEUE_FULL, QUOTA_EXCEEDED,
     * STORE_FULL.
     * </pre>
     */
    default void acquirePermits(dev.holdfast.v1.AcquirePermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.AcquirePermitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAcquirePermitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Prolongs a lease: it lives for its `ttl` from now. Never brings its end nearer, and never brings an
     * ended lease back. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (shortly before its end, after a failover of the store).
     * </pre>
     */
    default void renewPermits(dev.holdfast.v1.RenewPermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RenewPermitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenewPermitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Gives a lease back with all its permits, and whoever is next in the queue is granted at once.
     * Idempotent, and never touches any lease but its own. That the lease had ended is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void releasePermits(dev.holdfast.v1.ReleasePermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ReleasePermitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReleasePermitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes permits and keeps them for as long as the stream lives: the server renews the lease, and says at
     * once when it is lost. Call it without a deadline. As LockService.HoldLock, with the same events.
     * Errors: as AcquirePermits; LEASE_LOST, LEASE_NOT_HELD (attaching to an ended lease), REATTACH.
     * </pre>
     */
    default void holdPermits(dev.holdfast.v1.HoldPermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.HoldPermitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getHoldPermitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets how many permits may be out at once; creates the semaphore if there is none. It then stays until it
     * is deleted.
     * Raising wakes waiters at once. Lowering takes nothing from anybody who holds: nothing is granted until
     * what is held fits again (`overcommitted_count` shows by how much it does not), and waiters that can never
     * fit end with NEVER_FITS. Zero pauses: everybody waits, and nobody is told NEVER_FITS.
     * Idempotent: where the limit is in force already the answer is OK, whatever `expected_limit` says. So a
     * retry after a lost answer does no harm, unless somebody else has set another limit meanwhile: give
     * `expected_limit` where that may be.
     * Errors: INVALID_FIELD, LIMIT_MISMATCH, NO_SUCH_SEMAPHORE (`expected_limit` is set and there is none).
     * </pre>
     */
    default void setSemaphoreLimit(dev.holdfast.v1.SetSemaphoreLimitRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SetSemaphoreLimitResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetSemaphoreLimitMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads the limit, who holds and who waits. A picture of a moment that may be past when it arrives. Changes
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
     * Deletes a semaphore that nobody holds or waits for; with `force` any. Then waiters end with
     * NO_SUCH_SEMAPHORE, and holders are told at once that their leases were revoked; but as the name may be
     * used anew at once, only the fencing token protects what those leases protected.
     * Idempotent: repeated within a minute the answer is OK. But where the name was made anew meanwhile, it is
     * that semaphore which a repeat deletes: look with GetSemaphore first.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, SEMAPHORE_IN_USE.
     * </pre>
     */
    default void deleteSemaphore(dev.holdfast.v1.DeleteSemaphoreRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteSemaphoreResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteSemaphoreMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SemaphoreService.
   * <pre>
   * Counting semaphores by name. The permits that leases hold together never exceed the limit in force when
   * the latest of them was granted; each lease has its own time to live, so a crashed holder's permits come
   * back by themselves, however long others ask for. Who must wait has a place in one queue, and whoever is at
   * its head is served first: a request for many permits is not starved by a stream of requests for one.
   * A semaphore comes into being by SetSemaphoreLimit, and then stays until it is deleted; or by the first
   * request that brings an `initial_limit`, and then it is forgotten after a while of idleness.
   * Everything that LockService says of leases, retries, streams and errors holds here too: a lock is a
   * semaphore of one. The fencing tokens of a semaphore tell its leases apart; as several are held at a time,
   * they do not order the holders' writes.
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
   * Counting semaphores by name. The permits that leases hold together never exceed the limit in force when
   * the latest of them was granted; each lease has its own time to live, so a crashed holder's permits come
   * back by themselves, however long others ask for. Who must wait has a place in one queue, and whoever is at
   * its head is served first: a request for many permits is not starved by a stream of requests for one.
   * A semaphore comes into being by SetSemaphoreLimit, and then stays until it is deleted; or by the first
   * request that brings an `initial_limit`, and then it is forgotten after a while of idleness.
   * Everything that LockService says of leases, retries, streams and errors holds here too: a lock is a
   * semaphore of one. The fencing tokens of a semaphore tell its leases apart; as several are held at a time,
   * they do not order the holders' writes.
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
     * Takes permits, all of them at once or none, waiting in the queue for as long as `wait_timeout` and the
     * call's deadline allow. As LockService.AcquireLock otherwise.
     * Errors: INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, NEVER_FITS (at once, when more is asked for than the
     * limit, or when it is lowered below that during the wait), NO_SUCH_SEMAPHORE (unknown and no
     * `initial_limit`, or deleted during the wait), SUPERSEDED, REQUEST_FINISHED, QUEUE_FULL, QUOTA_EXCEEDED,
     * STORE_FULL.
     * </pre>
     */
    public void acquirePermits(dev.holdfast.v1.AcquirePermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.AcquirePermitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAcquirePermitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Prolongs a lease: it lives for its `ttl` from now. Never brings its end nearer, and never brings an
     * ended lease back. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (shortly before its end, after a failover of the store).
     * </pre>
     */
    public void renewPermits(dev.holdfast.v1.RenewPermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RenewPermitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenewPermitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Gives a lease back with all its permits, and whoever is next in the queue is granted at once.
     * Idempotent, and never touches any lease but its own. That the lease had ended is an answer, not an error.
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
     * Takes permits and keeps them for as long as the stream lives: the server renews the lease, and says at
     * once when it is lost. Call it without a deadline. As LockService.HoldLock, with the same events.
     * Errors: as AcquirePermits; LEASE_LOST, LEASE_NOT_HELD (attaching to an ended lease), REATTACH.
     * </pre>
     */
    public void holdPermits(dev.holdfast.v1.HoldPermitsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.HoldPermitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getHoldPermitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets how many permits may be out at once; creates the semaphore if there is none. It then stays until it
     * is deleted.
     * Raising wakes waiters at once. Lowering takes nothing from anybody who holds: nothing is granted until
     * what is held fits again (`overcommitted_count` shows by how much it does not), and waiters that can never
     * fit end with NEVER_FITS. Zero pauses: everybody waits, and nobody is told NEVER_FITS.
     * Idempotent: where the limit is in force already the answer is OK, whatever `expected_limit` says. So a
     * retry after a lost answer does no harm, unless somebody else has set another limit meanwhile: give
     * `expected_limit` where that may be.
     * Errors: INVALID_FIELD, LIMIT_MISMATCH, NO_SUCH_SEMAPHORE (`expected_limit` is set and there is none).
     * </pre>
     */
    public void setSemaphoreLimit(dev.holdfast.v1.SetSemaphoreLimitRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SetSemaphoreLimitResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetSemaphoreLimitMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads the limit, who holds and who waits. A picture of a moment that may be past when it arrives. Changes
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
     * Deletes a semaphore that nobody holds or waits for; with `force` any. Then waiters end with
     * NO_SUCH_SEMAPHORE, and holders are told at once that their leases were revoked; but as the name may be
     * used anew at once, only the fencing token protects what those leases protected.
     * Idempotent: repeated within a minute the answer is OK. But where the name was made anew meanwhile, it is
     * that semaphore which a repeat deletes: look with GetSemaphore first.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, SEMAPHORE_IN_USE.
     * </pre>
     */
    public void deleteSemaphore(dev.holdfast.v1.DeleteSemaphoreRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteSemaphoreResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteSemaphoreMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SemaphoreService.
   * <pre>
   * Counting semaphores by name. The permits that leases hold together never exceed the limit in force when
   * the latest of them was granted; each lease has its own time to live, so a crashed holder's permits come
   * back by themselves, however long others ask for. Who must wait has a place in one queue, and whoever is at
   * its head is served first: a request for many permits is not starved by a stream of requests for one.
   * A semaphore comes into being by SetSemaphoreLimit, and then stays until it is deleted; or by the first
   * request that brings an `initial_limit`, and then it is forgotten after a while of idleness.
   * Everything that LockService says of leases, retries, streams and errors holds here too: a lock is a
   * semaphore of one. The fencing tokens of a semaphore tell its leases apart; as several are held at a time,
   * they do not order the holders' writes.
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
     * Takes permits, all of them at once or none, waiting in the queue for as long as `wait_timeout` and the
     * call's deadline allow. As LockService.AcquireLock otherwise.
     * Errors: INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, NEVER_FITS (at once, when more is asked for than the
     * limit, or when it is lowered below that during the wait), NO_SUCH_SEMAPHORE (unknown and no
     * `initial_limit`, or deleted during the wait), SUPERSEDED, REQUEST_FINISHED, QUEUE_FULL, QUOTA_EXCEEDED,
     * STORE_FULL.
     * </pre>
     */
    public dev.holdfast.v1.AcquirePermitsResponse acquirePermits(dev.holdfast.v1.AcquirePermitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAcquirePermitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Prolongs a lease: it lives for its `ttl` from now. Never brings its end nearer, and never brings an
     * ended lease back. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (shortly before its end, after a failover of the store).
     * </pre>
     */
    public dev.holdfast.v1.RenewPermitsResponse renewPermits(dev.holdfast.v1.RenewPermitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenewPermitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a lease back with all its permits, and whoever is next in the queue is granted at once.
     * Idempotent, and never touches any lease but its own. That the lease had ended is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.ReleasePermitsResponse releasePermits(dev.holdfast.v1.ReleasePermitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReleasePermitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes permits and keeps them for as long as the stream lives: the server renews the lease, and says at
     * once when it is lost. Call it without a deadline. As LockService.HoldLock, with the same events.
     * Errors: as AcquirePermits; LEASE_LOST, LEASE_NOT_HELD (attaching to an ended lease), REATTACH.
     * </pre>
     */
    public java.util.Iterator<dev.holdfast.v1.HoldPermitsResponse> holdPermits(
        dev.holdfast.v1.HoldPermitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getHoldPermitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets how many permits may be out at once; creates the semaphore if there is none. It then stays until it
     * is deleted.
     * Raising wakes waiters at once. Lowering takes nothing from anybody who holds: nothing is granted until
     * what is held fits again (`overcommitted_count` shows by how much it does not), and waiters that can never
     * fit end with NEVER_FITS. Zero pauses: everybody waits, and nobody is told NEVER_FITS.
     * Idempotent: where the limit is in force already the answer is OK, whatever `expected_limit` says. So a
     * retry after a lost answer does no harm, unless somebody else has set another limit meanwhile: give
     * `expected_limit` where that may be.
     * Errors: INVALID_FIELD, LIMIT_MISMATCH, NO_SUCH_SEMAPHORE (`expected_limit` is set and there is none).
     * </pre>
     */
    public dev.holdfast.v1.SetSemaphoreLimitResponse setSemaphoreLimit(dev.holdfast.v1.SetSemaphoreLimitRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetSemaphoreLimitMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the limit, who holds and who waits. A picture of a moment that may be past when it arrives. Changes
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
     * Deletes a semaphore that nobody holds or waits for; with `force` any. Then waiters end with
     * NO_SUCH_SEMAPHORE, and holders are told at once that their leases were revoked; but as the name may be
     * used anew at once, only the fencing token protects what those leases protected.
     * Idempotent: repeated within a minute the answer is OK. But where the name was made anew meanwhile, it is
     * that semaphore which a repeat deletes: look with GetSemaphore first.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, SEMAPHORE_IN_USE.
     * </pre>
     */
    public dev.holdfast.v1.DeleteSemaphoreResponse deleteSemaphore(dev.holdfast.v1.DeleteSemaphoreRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteSemaphoreMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SemaphoreService.
   * <pre>
   * Counting semaphores by name. The permits that leases hold together never exceed the limit in force when
   * the latest of them was granted; each lease has its own time to live, so a crashed holder's permits come
   * back by themselves, however long others ask for. Who must wait has a place in one queue, and whoever is at
   * its head is served first: a request for many permits is not starved by a stream of requests for one.
   * A semaphore comes into being by SetSemaphoreLimit, and then stays until it is deleted; or by the first
   * request that brings an `initial_limit`, and then it is forgotten after a while of idleness.
   * Everything that LockService says of leases, retries, streams and errors holds here too: a lock is a
   * semaphore of one. The fencing tokens of a semaphore tell its leases apart; as several are held at a time,
   * they do not order the holders' writes.
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
     * Takes permits, all of them at once or none, waiting in the queue for as long as `wait_timeout` and the
     * call's deadline allow. As LockService.AcquireLock otherwise.
     * Errors: INVALID_FIELD, REQUEST_MISMATCH, CONTENDED, NEVER_FITS (at once, when more is asked for than the
     * limit, or when it is lowered below that during the wait), NO_SUCH_SEMAPHORE (unknown and no
     * `initial_limit`, or deleted during the wait), SUPERSEDED, REQUEST_FINISHED, QUEUE_FULL, QUOTA_EXCEEDED,
     * STORE_FULL.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.AcquirePermitsResponse> acquirePermits(
        dev.holdfast.v1.AcquirePermitsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAcquirePermitsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Prolongs a lease: it lives for its `ttl` from now. Never brings its end nearer, and never brings an
     * ended lease back. Idempotent.
     * Errors: INVALID_FIELD, LEASE_NOT_HELD, QUARANTINED (shortly before its end, after a failover of the store).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.RenewPermitsResponse> renewPermits(
        dev.holdfast.v1.RenewPermitsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenewPermitsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Gives a lease back with all its permits, and whoever is next in the queue is granted at once.
     * Idempotent, and never touches any lease but its own. That the lease had ended is an answer, not an error.
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
     * Sets how many permits may be out at once; creates the semaphore if there is none. It then stays until it
     * is deleted.
     * Raising wakes waiters at once. Lowering takes nothing from anybody who holds: nothing is granted until
     * what is held fits again (`overcommitted_count` shows by how much it does not), and waiters that can never
     * fit end with NEVER_FITS. Zero pauses: everybody waits, and nobody is told NEVER_FITS.
     * Idempotent: where the limit is in force already the answer is OK, whatever `expected_limit` says. So a
     * retry after a lost answer does no harm, unless somebody else has set another limit meanwhile: give
     * `expected_limit` where that may be.
     * Errors: INVALID_FIELD, LIMIT_MISMATCH, NO_SUCH_SEMAPHORE (`expected_limit` is set and there is none).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.SetSemaphoreLimitResponse> setSemaphoreLimit(
        dev.holdfast.v1.SetSemaphoreLimitRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetSemaphoreLimitMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads the limit, who holds and who waits. A picture of a moment that may be past when it arrives. Changes
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
     * Deletes a semaphore that nobody holds or waits for; with `force` any. Then waiters end with
     * NO_SUCH_SEMAPHORE, and holders are told at once that their leases were revoked; but as the name may be
     * used anew at once, only the fencing token protects what those leases protected.
     * Idempotent: repeated within a minute the answer is OK. But where the name was made anew meanwhile, it is
     * that semaphore which a repeat deletes: look with GetSemaphore first.
     * Errors: INVALID_FIELD, NO_SUCH_SEMAPHORE, SEMAPHORE_IN_USE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.DeleteSemaphoreResponse> deleteSemaphore(
        dev.holdfast.v1.DeleteSemaphoreRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteSemaphoreMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ACQUIRE_PERMITS = 0;
  private static final int METHODID_RENEW_PERMITS = 1;
  private static final int METHODID_RELEASE_PERMITS = 2;
  private static final int METHODID_HOLD_PERMITS = 3;
  private static final int METHODID_SET_SEMAPHORE_LIMIT = 4;
  private static final int METHODID_GET_SEMAPHORE = 5;
  private static final int METHODID_DELETE_SEMAPHORE = 6;

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
              .build();
        }
      }
    }
    return result;
  }
}
