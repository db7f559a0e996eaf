package dev.holdfast.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Information about the server behind the connection, and its administration. Servers that share one
 * store may have different configurations: each server answers for itself.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ServerServiceGrpc {

  private ServerServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "holdfast.v1.ServerService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.GetServerInfoRequest,
      dev.holdfast.v1.GetServerInfoResponse> getGetServerInfoMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetServerInfo",
      requestType = dev.holdfast.v1.GetServerInfoRequest.class,
      responseType = dev.holdfast.v1.GetServerInfoResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.GetServerInfoRequest,
      dev.holdfast.v1.GetServerInfoResponse> getGetServerInfoMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.GetServerInfoRequest, dev.holdfast.v1.GetServerInfoResponse> getGetServerInfoMethod;
    if ((getGetServerInfoMethod = ServerServiceGrpc.getGetServerInfoMethod) == null) {
      synchronized (ServerServiceGrpc.class) {
        if ((getGetServerInfoMethod = ServerServiceGrpc.getGetServerInfoMethod) == null) {
          ServerServiceGrpc.getGetServerInfoMethod = getGetServerInfoMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.GetServerInfoRequest, dev.holdfast.v1.GetServerInfoResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetServerInfo"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.GetServerInfoRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.GetServerInfoResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ServerServiceMethodDescriptorSupplier("GetServerInfo"))
              .build();
        }
      }
    }
    return getGetServerInfoMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.EndQuarantineRequest,
      dev.holdfast.v1.EndQuarantineResponse> getEndQuarantineMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "EndQuarantine",
      requestType = dev.holdfast.v1.EndQuarantineRequest.class,
      responseType = dev.holdfast.v1.EndQuarantineResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.EndQuarantineRequest,
      dev.holdfast.v1.EndQuarantineResponse> getEndQuarantineMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.EndQuarantineRequest, dev.holdfast.v1.EndQuarantineResponse> getEndQuarantineMethod;
    if ((getEndQuarantineMethod = ServerServiceGrpc.getEndQuarantineMethod) == null) {
      synchronized (ServerServiceGrpc.class) {
        if ((getEndQuarantineMethod = ServerServiceGrpc.getEndQuarantineMethod) == null) {
          ServerServiceGrpc.getEndQuarantineMethod = getEndQuarantineMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.EndQuarantineRequest, dev.holdfast.v1.EndQuarantineResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "EndQuarantine"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.EndQuarantineRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.EndQuarantineResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ServerServiceMethodDescriptorSupplier("EndQuarantine"))
              .build();
        }
      }
    }
    return getEndQuarantineMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.ListCallersRequest,
      dev.holdfast.v1.ListCallersResponse> getListCallersMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListCallers",
      requestType = dev.holdfast.v1.ListCallersRequest.class,
      responseType = dev.holdfast.v1.ListCallersResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.ListCallersRequest,
      dev.holdfast.v1.ListCallersResponse> getListCallersMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.ListCallersRequest, dev.holdfast.v1.ListCallersResponse> getListCallersMethod;
    if ((getListCallersMethod = ServerServiceGrpc.getListCallersMethod) == null) {
      synchronized (ServerServiceGrpc.class) {
        if ((getListCallersMethod = ServerServiceGrpc.getListCallersMethod) == null) {
          ServerServiceGrpc.getListCallersMethod = getListCallersMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.ListCallersRequest, dev.holdfast.v1.ListCallersResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListCallers"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListCallersRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListCallersResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ServerServiceMethodDescriptorSupplier("ListCallers"))
              .build();
        }
      }
    }
    return getListCallersMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ServerServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ServerServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ServerServiceStub>() {
        @java.lang.Override
        public ServerServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ServerServiceStub(channel, callOptions);
        }
      };
    return ServerServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ServerServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ServerServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ServerServiceBlockingStub>() {
        @java.lang.Override
        public ServerServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ServerServiceBlockingStub(channel, callOptions);
        }
      };
    return ServerServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ServerServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ServerServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ServerServiceFutureStub>() {
        @java.lang.Override
        public ServerServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ServerServiceFutureStub(channel, callOptions);
        }
      };
    return ServerServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Information about the server behind the connection, and its administration. Servers that share one
   * store may have different configurations: each server answers for itself.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Reads the version, bounds, features and store state of this server. Also answers while the store is
     * unreachable. Changes nothing.
     * </pre>
     */
    default void getServerInfo(dev.holdfast.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetServerInfoMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends the quarantine of the store for all servers that share the store. In a Redis Cluster: the
     * quarantine of all nodes that answer. With this call an operator asserts that no client relies on an
     * old lease any more (for example because all clients were stopped), or accepts the risk. If a client
     * still relies on an old lease, its lock may have two holders for the remaining time of the
     * quarantine. During this time only fencing tokens protect the work. The answer and the server's log
     * describe this risk.
     * Changes nothing without a quarantine. A retry is harmless. OK means that the change has reached the
     * number of replicas that the store's master requires. If the replicas do not confirm the change in
     * time, the call ends with OUTCOME_UNKNOWN, although the quarantine has ended. Then a retry answers OK
     * without `ended_quarantine`.
     * With a policy, the caller needs `admin` for the empty prefix. Without a policy, every caller that the
     * server accepts may make this call.
     * Errors: INVALID_FIELD, NOT_ALLOWED, STORE_UNAVAILABLE, OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    default void endQuarantine(dev.holdfast.v1.EndQuarantineRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.EndQuarantineResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getEndQuarantineMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the callers of this server, those that send the most now first. Other servers have other callers,
     * so ask each server. Makes no call to the store, and changes nothing. Check for FEATURE_CALLERS first.
     * The server keeps at most 2,048 callers. A new caller takes the place of a caller that sends little and
     * has no lease, no waiter and no open stream. `other` has the sums of the callers without a place.
     * With a policy, the caller needs `admin` for the empty prefix. Without a policy, every caller that the
     * server accepts may make this call.
     * Errors: INVALID_FIELD, NOT_ALLOWED.
     * </pre>
     */
    default void listCallers(dev.holdfast.v1.ListCallersRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListCallersResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListCallersMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ServerService.
   * <pre>
   * Information about the server behind the connection, and its administration. Servers that share one
   * store may have different configurations: each server answers for itself.
   * </pre>
   */
  public static abstract class ServerServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ServerServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ServerService.
   * <pre>
   * Information about the server behind the connection, and its administration. Servers that share one
   * store may have different configurations: each server answers for itself.
   * </pre>
   */
  public static final class ServerServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ServerServiceStub> {
    private ServerServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ServerServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ServerServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads the version, bounds, features and store state of this server. Also answers while the store is
     * unreachable. Changes nothing.
     * </pre>
     */
    public void getServerInfo(dev.holdfast.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends the quarantine of the store for all servers that share the store. In a Redis Cluster: the
     * quarantine of all nodes that answer. With this call an operator asserts that no client relies on an
     * old lease any more (for example because all clients were stopped), or accepts the risk. If a client
     * still relies on an old lease, its lock may have two holders for the remaining time of the
     * quarantine. During this time only fencing tokens protect the work. The answer and the server's log
     * describe this risk.
     * Changes nothing without a quarantine. A retry is harmless. OK means that the change has reached the
     * number of replicas that the store's master requires. If the replicas do not confirm the change in
     * time, the call ends with OUTCOME_UNKNOWN, although the quarantine has ended. Then a retry answers OK
     * without `ended_quarantine`.
     * With a policy, the caller needs `admin` for the empty prefix. Without a policy, every caller that the
     * server accepts may make this call.
     * Errors: INVALID_FIELD, NOT_ALLOWED, STORE_UNAVAILABLE, OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    public void endQuarantine(dev.holdfast.v1.EndQuarantineRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.EndQuarantineResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getEndQuarantineMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the callers of this server, those that send the most now first. Other servers have other callers,
     * so ask each server. Makes no call to the store, and changes nothing. Check for FEATURE_CALLERS first.
     * The server keeps at most 2,048 callers. A new caller takes the place of a caller that sends little and
     * has no lease, no waiter and no open stream. `other` has the sums of the callers without a place.
     * With a policy, the caller needs `admin` for the empty prefix. Without a policy, every caller that the
     * server accepts may make this call.
     * Errors: INVALID_FIELD, NOT_ALLOWED.
     * </pre>
     */
    public void listCallers(dev.holdfast.v1.ListCallersRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListCallersResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListCallersMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ServerService.
   * <pre>
   * Information about the server behind the connection, and its administration. Servers that share one
   * store may have different configurations: each server answers for itself.
   * </pre>
   */
  public static final class ServerServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ServerServiceBlockingStub> {
    private ServerServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ServerServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ServerServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads the version, bounds, features and store state of this server. Also answers while the store is
     * unreachable. Changes nothing.
     * </pre>
     */
    public dev.holdfast.v1.GetServerInfoResponse getServerInfo(dev.holdfast.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends the quarantine of the store for all servers that share the store. In a Redis Cluster: the
     * quarantine of all nodes that answer. With this call an operator asserts that no client relies on an
     * old lease any more (for example because all clients were stopped), or accepts the risk. If a client
     * still relies on an old lease, its lock may have two holders for the remaining time of the
     * quarantine. During this time only fencing tokens protect the work. The answer and the server's log
     * describe this risk.
     * Changes nothing without a quarantine. A retry is harmless. OK means that the change has reached the
     * number of replicas that the store's master requires. If the replicas do not confirm the change in
     * time, the call ends with OUTCOME_UNKNOWN, although the quarantine has ended. Then a retry answers OK
     * without `ended_quarantine`.
     * With a policy, the caller needs `admin` for the empty prefix. Without a policy, every caller that the
     * server accepts may make this call.
     * Errors: INVALID_FIELD, NOT_ALLOWED, STORE_UNAVAILABLE, OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    public dev.holdfast.v1.EndQuarantineResponse endQuarantine(dev.holdfast.v1.EndQuarantineRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getEndQuarantineMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the callers of this server, those that send the most now first. Other servers have other callers,
     * so ask each server. Makes no call to the store, and changes nothing. Check for FEATURE_CALLERS first.
     * The server keeps at most 2,048 callers. A new caller takes the place of a caller that sends little and
     * has no lease, no waiter and no open stream. `other` has the sums of the callers without a place.
     * With a policy, the caller needs `admin` for the empty prefix. Without a policy, every caller that the
     * server accepts may make this call.
     * Errors: INVALID_FIELD, NOT_ALLOWED.
     * </pre>
     */
    public dev.holdfast.v1.ListCallersResponse listCallers(dev.holdfast.v1.ListCallersRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListCallersMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ServerService.
   * <pre>
   * Information about the server behind the connection, and its administration. Servers that share one
   * store may have different configurations: each server answers for itself.
   * </pre>
   */
  public static final class ServerServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ServerServiceFutureStub> {
    private ServerServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ServerServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ServerServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads the version, bounds, features and store state of this server. Also answers while the store is
     * unreachable. Changes nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.GetServerInfoResponse> getServerInfo(
        dev.holdfast.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends the quarantine of the store for all servers that share the store. In a Redis Cluster: the
     * quarantine of all nodes that answer. With this call an operator asserts that no client relies on an
     * old lease any more (for example because all clients were stopped), or accepts the risk. If a client
     * still relies on an old lease, its lock may have two holders for the remaining time of the
     * quarantine. During this time only fencing tokens protect the work. The answer and the server's log
     * describe this risk.
     * Changes nothing without a quarantine. A retry is harmless. OK means that the change has reached the
     * number of replicas that the store's master requires. If the replicas do not confirm the change in
     * time, the call ends with OUTCOME_UNKNOWN, although the quarantine has ended. Then a retry answers OK
     * without `ended_quarantine`.
     * With a policy, the caller needs `admin` for the empty prefix. Without a policy, every caller that the
     * server accepts may make this call.
     * Errors: INVALID_FIELD, NOT_ALLOWED, STORE_UNAVAILABLE, OUTCOME_UNKNOWN (retry).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.EndQuarantineResponse> endQuarantine(
        dev.holdfast.v1.EndQuarantineRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getEndQuarantineMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the callers of this server, those that send the most now first. Other servers have other callers,
     * so ask each server. Makes no call to the store, and changes nothing. Check for FEATURE_CALLERS first.
     * The server keeps at most 2,048 callers. A new caller takes the place of a caller that sends little and
     * has no lease, no waiter and no open stream. `other` has the sums of the callers without a place.
     * With a policy, the caller needs `admin` for the empty prefix. Without a policy, every caller that the
     * server accepts may make this call.
     * Errors: INVALID_FIELD, NOT_ALLOWED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.ListCallersResponse> listCallers(
        dev.holdfast.v1.ListCallersRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListCallersMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_SERVER_INFO = 0;
  private static final int METHODID_END_QUARANTINE = 1;
  private static final int METHODID_LIST_CALLERS = 2;

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
        case METHODID_GET_SERVER_INFO:
          serviceImpl.getServerInfo((dev.holdfast.v1.GetServerInfoRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.GetServerInfoResponse>) responseObserver);
          break;
        case METHODID_END_QUARANTINE:
          serviceImpl.endQuarantine((dev.holdfast.v1.EndQuarantineRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.EndQuarantineResponse>) responseObserver);
          break;
        case METHODID_LIST_CALLERS:
          serviceImpl.listCallers((dev.holdfast.v1.ListCallersRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.ListCallersResponse>) responseObserver);
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
          getGetServerInfoMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.GetServerInfoRequest,
              dev.holdfast.v1.GetServerInfoResponse>(
                service, METHODID_GET_SERVER_INFO)))
        .addMethod(
          getEndQuarantineMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.EndQuarantineRequest,
              dev.holdfast.v1.EndQuarantineResponse>(
                service, METHODID_END_QUARANTINE)))
        .addMethod(
          getListCallersMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.ListCallersRequest,
              dev.holdfast.v1.ListCallersResponse>(
                service, METHODID_LIST_CALLERS)))
        .build();
  }

  private static abstract class ServerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ServerServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.holdfast.v1.ServerServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ServerService");
    }
  }

  private static final class ServerServiceFileDescriptorSupplier
      extends ServerServiceBaseDescriptorSupplier {
    ServerServiceFileDescriptorSupplier() {}
  }

  private static final class ServerServiceMethodDescriptorSupplier
      extends ServerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ServerServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ServerServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ServerServiceFileDescriptorSupplier())
              .addMethod(getGetServerInfoMethod())
              .addMethod(getEndQuarantineMethod())
              .addMethod(getListCallersMethod())
              .build();
        }
      }
    }
    return result;
  }
}
