package dev.holdfast.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Sessions. A session is one stream that waits for, holds and renews thousands of locks and permits of
 * one process. Servers with FEATURE_SESSIONS in GetServerInfo offer this service.
 * The server renews the leases of a session only while heartbeats of the client arrive. Heartbeats are
 * messages of the client itself. So they prove that the client is alive, even if a proxy between client
 * and server answers HTTP/2 pings. HoldLock relies on these pings, and is for programs with few leases
 * and without such a proxy.
 * Leases, queues, fencing tokens and `request_id` work as in LockService and SemaphoreService. A lease
 * may move between a session, a hold stream and unary calls by its `lease_id`.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SessionServiceGrpc {

  private SessionServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "holdfast.v1.SessionService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.OpenSessionRequest,
      dev.holdfast.v1.OpenSessionResponse> getOpenSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "OpenSession",
      requestType = dev.holdfast.v1.OpenSessionRequest.class,
      responseType = dev.holdfast.v1.OpenSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.OpenSessionRequest,
      dev.holdfast.v1.OpenSessionResponse> getOpenSessionMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.OpenSessionRequest, dev.holdfast.v1.OpenSessionResponse> getOpenSessionMethod;
    if ((getOpenSessionMethod = SessionServiceGrpc.getOpenSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getOpenSessionMethod = SessionServiceGrpc.getOpenSessionMethod) == null) {
          SessionServiceGrpc.getOpenSessionMethod = getOpenSessionMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.OpenSessionRequest, dev.holdfast.v1.OpenSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "OpenSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.OpenSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.OpenSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("OpenSession"))
              .build();
        }
      }
    }
    return getOpenSessionMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SessionServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceStub>() {
        @java.lang.Override
        public SessionServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceStub(channel, callOptions);
        }
      };
    return SessionServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SessionServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingStub>() {
        @java.lang.Override
        public SessionServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceBlockingStub(channel, callOptions);
        }
      };
    return SessionServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SessionServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceFutureStub>() {
        @java.lang.Override
        public SessionServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceFutureStub(channel, callOptions);
        }
      };
    return SessionServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Sessions. A session is one stream that waits for, holds and renews thousands of locks and permits of
   * one process. Servers with FEATURE_SESSIONS in GetServerInfo offer this service.
   * The server renews the leases of a session only while heartbeats of the client arrive. Heartbeats are
   * messages of the client itself. So they prove that the client is alive, even if a proxy between client
   * and server answers HTTP/2 pings. HoldLock relies on these pings, and is for programs with few leases
   * and without such a proxy.
   * Leases, queues, fencing tokens and `request_id` work as in LockService and SemaphoreService. A lease
   * may move between a session, a hold stream and unary calls by its `lease_id`.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Opens a session. Call OpenSession without a deadline, on a connection of its own, and without
     * retries of the gRPC library or of a proxy.
     * The first request has `start` and heartbeat 1, and may have commands. The first response has
     * `started`. Then client and server send messages at any time. The server reads the requests in order.
     * Put everything that you send at the same time into one message.
     * The error of one command is a `failed` event and never ends the stream. After the stream ends, for
     * any reason, every lease continues to the end of its `ttl`, and a waiting request keeps its place in
     * the queue for 10 seconds: the end of a stream, also by a half-close, does not prove that the client
     * has stopped. The next session, on any server, attaches to the leases by `lease_id`, and continues
     * the waits by `request_id`. An end of the stream without a reason, such as a broken connection, means
     * the same.
     * Every caller with a proven identity may open a session. With a policy, each command needs the
     * permission of its `command_verb` for its name, in LockService or SemaphoreService. If the
     * caller loses the permission for a name, the session sends `ended` with cause REVOKED for the leases
     * of that name.
     * Errors, which end the stream:
     *   - INVALID_FIELD: a first request without `start` or without heartbeat 1, a later request with
     *     `start`, a malformed field of `start`, a `heartbeat_id` or `command_id` that does not rise.
     *   - SESSION_SILENT: no heartbeat within `heartbeat_timeout`, or the client does not read.
     *   - QUOTA_EXCEEDED: a request above the bounds in `started`, 1,000 refusals that the client has not
     *     read, or too many sessions of the caller or of the server.
     *   - BAD_CREDENTIAL: the credential of the stream has expired.
     *   - DRAINING: the server stops.
     *   - REATTACH: the connection has reached its maximum age, or has left an HTTP/2 ping unanswered.
     *   - OVERLOADED: too many calls arrive.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.holdfast.v1.OpenSessionRequest> openSession(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.OpenSessionResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getOpenSessionMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SessionService.
   * <pre>
   * Sessions. A session is one stream that waits for, holds and renews thousands of locks and permits of
   * one process. Servers with FEATURE_SESSIONS in GetServerInfo offer this service.
   * The server renews the leases of a session only while heartbeats of the client arrive. Heartbeats are
   * messages of the client itself. So they prove that the client is alive, even if a proxy between client
   * and server answers HTTP/2 pings. HoldLock relies on these pings, and is for programs with few leases
   * and without such a proxy.
   * Leases, queues, fencing tokens and `request_id` work as in LockService and SemaphoreService. A lease
   * may move between a session, a hold stream and unary calls by its `lease_id`.
   * </pre>
   */
  public static abstract class SessionServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SessionServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SessionService.
   * <pre>
   * Sessions. A session is one stream that waits for, holds and renews thousands of locks and permits of
   * one process. Servers with FEATURE_SESSIONS in GetServerInfo offer this service.
   * The server renews the leases of a session only while heartbeats of the client arrive. Heartbeats are
   * messages of the client itself. So they prove that the client is alive, even if a proxy between client
   * and server answers HTTP/2 pings. HoldLock relies on these pings, and is for programs with few leases
   * and without such a proxy.
   * Leases, queues, fencing tokens and `request_id` work as in LockService and SemaphoreService. A lease
   * may move between a session, a hold stream and unary calls by its `lease_id`.
   * </pre>
   */
  public static final class SessionServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SessionServiceStub> {
    private SessionServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Opens a session. Call OpenSession without a deadline, on a connection of its own, and without
     * retries of the gRPC library or of a proxy.
     * The first request has `start` and heartbeat 1, and may have commands. The first response has
     * `started`. Then client and server send messages at any time. The server reads the requests in order.
     * Put everything that you send at the same time into one message.
     * The error of one command is a `failed` event and never ends the stream. After the stream ends, for
     * any reason, every lease continues to the end of its `ttl`, and a waiting request keeps its place in
     * the queue for 10 seconds: the end of a stream, also by a half-close, does not prove that the client
     * has stopped. The next session, on any server, attaches to the leases by `lease_id`, and continues
     * the waits by `request_id`. An end of the stream without a reason, such as a broken connection, means
     * the same.
     * Every caller with a proven identity may open a session. With a policy, each command needs the
     * permission of its `command_verb` for its name, in LockService or SemaphoreService. If the
     * caller loses the permission for a name, the session sends `ended` with cause REVOKED for the leases
     * of that name.
     * Errors, which end the stream:
     *   - INVALID_FIELD: a first request without `start` or without heartbeat 1, a later request with
     *     `start`, a malformed field of `start`, a `heartbeat_id` or `command_id` that does not rise.
     *   - SESSION_SILENT: no heartbeat within `heartbeat_timeout`, or the client does not read.
     *   - QUOTA_EXCEEDED: a request above the bounds in `started`, 1,000 refusals that the client has not
     *     read, or too many sessions of the caller or of the server.
     *   - BAD_CREDENTIAL: the credential of the stream has expired.
     *   - DRAINING: the server stops.
     *   - REATTACH: the connection has reached its maximum age, or has left an HTTP/2 ping unanswered.
     *   - OVERLOADED: too many calls arrive.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.holdfast.v1.OpenSessionRequest> openSession(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.OpenSessionResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getOpenSessionMethod(), getCallOptions()), responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SessionService.
   * <pre>
   * Sessions. A session is one stream that waits for, holds and renews thousands of locks and permits of
   * one process. Servers with FEATURE_SESSIONS in GetServerInfo offer this service.
   * The server renews the leases of a session only while heartbeats of the client arrive. Heartbeats are
   * messages of the client itself. So they prove that the client is alive, even if a proxy between client
   * and server answers HTTP/2 pings. HoldLock relies on these pings, and is for programs with few leases
   * and without such a proxy.
   * Leases, queues, fencing tokens and `request_id` work as in LockService and SemaphoreService. A lease
   * may move between a session, a hold stream and unary calls by its `lease_id`.
   * </pre>
   */
  public static final class SessionServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SessionServiceBlockingStub> {
    private SessionServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceBlockingStub(channel, callOptions);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SessionService.
   * <pre>
   * Sessions. A session is one stream that waits for, holds and renews thousands of locks and permits of
   * one process. Servers with FEATURE_SESSIONS in GetServerInfo offer this service.
   * The server renews the leases of a session only while heartbeats of the client arrive. Heartbeats are
   * messages of the client itself. So they prove that the client is alive, even if a proxy between client
   * and server answers HTTP/2 pings. HoldLock relies on these pings, and is for programs with few leases
   * and without such a proxy.
   * Leases, queues, fencing tokens and `request_id` work as in LockService and SemaphoreService. A lease
   * may move between a session, a hold stream and unary calls by its `lease_id`.
   * </pre>
   */
  public static final class SessionServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SessionServiceFutureStub> {
    private SessionServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceFutureStub(channel, callOptions);
    }
  }

  private static final int METHODID_OPEN_SESSION = 0;

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
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_OPEN_SESSION:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.openSession(
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.OpenSessionResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getOpenSessionMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              dev.holdfast.v1.OpenSessionRequest,
              dev.holdfast.v1.OpenSessionResponse>(
                service, METHODID_OPEN_SESSION)))
        .build();
  }

  private static abstract class SessionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SessionServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.holdfast.v1.SessionServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SessionService");
    }
  }

  private static final class SessionServiceFileDescriptorSupplier
      extends SessionServiceBaseDescriptorSupplier {
    SessionServiceFileDescriptorSupplier() {}
  }

  private static final class SessionServiceMethodDescriptorSupplier
      extends SessionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SessionServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (SessionServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SessionServiceFileDescriptorSupplier())
              .addMethod(getOpenSessionMethod())
              .build();
        }
      }
    }
    return result;
  }
}
