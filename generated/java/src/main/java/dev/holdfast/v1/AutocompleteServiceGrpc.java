package dev.holdfast.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Suggestions while somebody types. A dictionary is a set of entries that all its callers share; a list
 * of recents is what one caller chose lately. Both live in the same store as the locks, and every server
 * over it sees the same.
 * How texts are compared. Queries, texts and aliases are folded in the server, in any script: Unicode
 * compatibility forms are made one and case is removed (NFKC, full case folding, NFKC again), so
 * `straße` finds `STRASSE` and full-width finds half-width. A dictionary whose profile drops accents
 * also takes combining marks away: `resume` finds `résumé`, and the other way round. White space is left
 * as it is.
 * How suggestions are ordered. First by MatchKind, in the order of its values; an entry appears once, at
 * the best of the kinds asked for, over its text and its aliases. Within a kind first the caller's
 * recents, the latest first; then by weight plus selections, the greater first; then by folded text and
 * by `entry_id`, each by code points.
 * How recents join in. A recent matches by its own text, folded as the dictionary's texts are, and
 * appears also where the dictionary lacks it. It is one with the dictionary's entry of the same
 * `entry_id` (where both have one), else of the same folded text: then the recent is shown and the entry
 * is not.
 * Bounds. Names of lists and dictionaries, and an `entry_id`: 1 to 512 bytes of UTF-8. A text or an
 * alias: 1 to 512 bytes; a query: up to 512. None of these may hold control characters or U+FFFD; any
 * other character is data and never syntax. A payload is any bytes, at most 1 KiB. A request is at most
 * 4 MiB, which gRPC itself refuses to exceed.
 * Every call can also end with STORE_UNAVAILABLE, DRAINING, INTERNAL; one that writes with STORE_FULL
 * and OUTCOME_UNKNOWN too. After OUTCOME_UNKNOWN each call says of itself what a repeat does.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class AutocompleteServiceGrpc {

  private AutocompleteServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "holdfast.v1.AutocompleteService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.AddRecentRequest,
      dev.holdfast.v1.AddRecentResponse> getAddRecentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AddRecent",
      requestType = dev.holdfast.v1.AddRecentRequest.class,
      responseType = dev.holdfast.v1.AddRecentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.AddRecentRequest,
      dev.holdfast.v1.AddRecentResponse> getAddRecentMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.AddRecentRequest, dev.holdfast.v1.AddRecentResponse> getAddRecentMethod;
    if ((getAddRecentMethod = AutocompleteServiceGrpc.getAddRecentMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getAddRecentMethod = AutocompleteServiceGrpc.getAddRecentMethod) == null) {
          AutocompleteServiceGrpc.getAddRecentMethod = getAddRecentMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.AddRecentRequest, dev.holdfast.v1.AddRecentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AddRecent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.AddRecentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.AddRecentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("AddRecent"))
              .build();
        }
      }
    }
    return getAddRecentMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.RemoveRecentRequest,
      dev.holdfast.v1.RemoveRecentResponse> getRemoveRecentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RemoveRecent",
      requestType = dev.holdfast.v1.RemoveRecentRequest.class,
      responseType = dev.holdfast.v1.RemoveRecentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.RemoveRecentRequest,
      dev.holdfast.v1.RemoveRecentResponse> getRemoveRecentMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.RemoveRecentRequest, dev.holdfast.v1.RemoveRecentResponse> getRemoveRecentMethod;
    if ((getRemoveRecentMethod = AutocompleteServiceGrpc.getRemoveRecentMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getRemoveRecentMethod = AutocompleteServiceGrpc.getRemoveRecentMethod) == null) {
          AutocompleteServiceGrpc.getRemoveRecentMethod = getRemoveRecentMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.RemoveRecentRequest, dev.holdfast.v1.RemoveRecentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RemoveRecent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RemoveRecentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RemoveRecentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("RemoveRecent"))
              .build();
        }
      }
    }
    return getRemoveRecentMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.SuggestRecentsRequest,
      dev.holdfast.v1.SuggestRecentsResponse> getSuggestRecentsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SuggestRecents",
      requestType = dev.holdfast.v1.SuggestRecentsRequest.class,
      responseType = dev.holdfast.v1.SuggestRecentsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.SuggestRecentsRequest,
      dev.holdfast.v1.SuggestRecentsResponse> getSuggestRecentsMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.SuggestRecentsRequest, dev.holdfast.v1.SuggestRecentsResponse> getSuggestRecentsMethod;
    if ((getSuggestRecentsMethod = AutocompleteServiceGrpc.getSuggestRecentsMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getSuggestRecentsMethod = AutocompleteServiceGrpc.getSuggestRecentsMethod) == null) {
          AutocompleteServiceGrpc.getSuggestRecentsMethod = getSuggestRecentsMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.SuggestRecentsRequest, dev.holdfast.v1.SuggestRecentsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SuggestRecents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.SuggestRecentsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.SuggestRecentsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("SuggestRecents"))
              .build();
        }
      }
    }
    return getSuggestRecentsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteRecentsRequest,
      dev.holdfast.v1.DeleteRecentsResponse> getDeleteRecentsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteRecents",
      requestType = dev.holdfast.v1.DeleteRecentsRequest.class,
      responseType = dev.holdfast.v1.DeleteRecentsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteRecentsRequest,
      dev.holdfast.v1.DeleteRecentsResponse> getDeleteRecentsMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteRecentsRequest, dev.holdfast.v1.DeleteRecentsResponse> getDeleteRecentsMethod;
    if ((getDeleteRecentsMethod = AutocompleteServiceGrpc.getDeleteRecentsMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getDeleteRecentsMethod = AutocompleteServiceGrpc.getDeleteRecentsMethod) == null) {
          AutocompleteServiceGrpc.getDeleteRecentsMethod = getDeleteRecentsMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.DeleteRecentsRequest, dev.holdfast.v1.DeleteRecentsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteRecents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.DeleteRecentsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.DeleteRecentsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("DeleteRecents"))
              .build();
        }
      }
    }
    return getDeleteRecentsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.CreateDictionaryRequest,
      dev.holdfast.v1.CreateDictionaryResponse> getCreateDictionaryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateDictionary",
      requestType = dev.holdfast.v1.CreateDictionaryRequest.class,
      responseType = dev.holdfast.v1.CreateDictionaryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.CreateDictionaryRequest,
      dev.holdfast.v1.CreateDictionaryResponse> getCreateDictionaryMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.CreateDictionaryRequest, dev.holdfast.v1.CreateDictionaryResponse> getCreateDictionaryMethod;
    if ((getCreateDictionaryMethod = AutocompleteServiceGrpc.getCreateDictionaryMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getCreateDictionaryMethod = AutocompleteServiceGrpc.getCreateDictionaryMethod) == null) {
          AutocompleteServiceGrpc.getCreateDictionaryMethod = getCreateDictionaryMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.CreateDictionaryRequest, dev.holdfast.v1.CreateDictionaryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateDictionary"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.CreateDictionaryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.CreateDictionaryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("CreateDictionary"))
              .build();
        }
      }
    }
    return getCreateDictionaryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.PutEntriesRequest,
      dev.holdfast.v1.PutEntriesResponse> getPutEntriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PutEntries",
      requestType = dev.holdfast.v1.PutEntriesRequest.class,
      responseType = dev.holdfast.v1.PutEntriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.PutEntriesRequest,
      dev.holdfast.v1.PutEntriesResponse> getPutEntriesMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.PutEntriesRequest, dev.holdfast.v1.PutEntriesResponse> getPutEntriesMethod;
    if ((getPutEntriesMethod = AutocompleteServiceGrpc.getPutEntriesMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getPutEntriesMethod = AutocompleteServiceGrpc.getPutEntriesMethod) == null) {
          AutocompleteServiceGrpc.getPutEntriesMethod = getPutEntriesMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.PutEntriesRequest, dev.holdfast.v1.PutEntriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PutEntries"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.PutEntriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.PutEntriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("PutEntries"))
              .build();
        }
      }
    }
    return getPutEntriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteEntriesRequest,
      dev.holdfast.v1.DeleteEntriesResponse> getDeleteEntriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteEntries",
      requestType = dev.holdfast.v1.DeleteEntriesRequest.class,
      responseType = dev.holdfast.v1.DeleteEntriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteEntriesRequest,
      dev.holdfast.v1.DeleteEntriesResponse> getDeleteEntriesMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteEntriesRequest, dev.holdfast.v1.DeleteEntriesResponse> getDeleteEntriesMethod;
    if ((getDeleteEntriesMethod = AutocompleteServiceGrpc.getDeleteEntriesMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getDeleteEntriesMethod = AutocompleteServiceGrpc.getDeleteEntriesMethod) == null) {
          AutocompleteServiceGrpc.getDeleteEntriesMethod = getDeleteEntriesMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.DeleteEntriesRequest, dev.holdfast.v1.DeleteEntriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteEntries"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.DeleteEntriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.DeleteEntriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("DeleteEntries"))
              .build();
        }
      }
    }
    return getDeleteEntriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.ImportDictionaryRequest,
      dev.holdfast.v1.ImportDictionaryResponse> getImportDictionaryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ImportDictionary",
      requestType = dev.holdfast.v1.ImportDictionaryRequest.class,
      responseType = dev.holdfast.v1.ImportDictionaryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.ImportDictionaryRequest,
      dev.holdfast.v1.ImportDictionaryResponse> getImportDictionaryMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.ImportDictionaryRequest, dev.holdfast.v1.ImportDictionaryResponse> getImportDictionaryMethod;
    if ((getImportDictionaryMethod = AutocompleteServiceGrpc.getImportDictionaryMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getImportDictionaryMethod = AutocompleteServiceGrpc.getImportDictionaryMethod) == null) {
          AutocompleteServiceGrpc.getImportDictionaryMethod = getImportDictionaryMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.ImportDictionaryRequest, dev.holdfast.v1.ImportDictionaryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ImportDictionary"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ImportDictionaryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ImportDictionaryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("ImportDictionary"))
              .build();
        }
      }
    }
    return getImportDictionaryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.RecordSelectionRequest,
      dev.holdfast.v1.RecordSelectionResponse> getRecordSelectionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RecordSelection",
      requestType = dev.holdfast.v1.RecordSelectionRequest.class,
      responseType = dev.holdfast.v1.RecordSelectionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.RecordSelectionRequest,
      dev.holdfast.v1.RecordSelectionResponse> getRecordSelectionMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.RecordSelectionRequest, dev.holdfast.v1.RecordSelectionResponse> getRecordSelectionMethod;
    if ((getRecordSelectionMethod = AutocompleteServiceGrpc.getRecordSelectionMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getRecordSelectionMethod = AutocompleteServiceGrpc.getRecordSelectionMethod) == null) {
          AutocompleteServiceGrpc.getRecordSelectionMethod = getRecordSelectionMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.RecordSelectionRequest, dev.holdfast.v1.RecordSelectionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RecordSelection"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RecordSelectionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.RecordSelectionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("RecordSelection"))
              .build();
        }
      }
    }
    return getRecordSelectionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.SuggestRequest,
      dev.holdfast.v1.SuggestResponse> getSuggestMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Suggest",
      requestType = dev.holdfast.v1.SuggestRequest.class,
      responseType = dev.holdfast.v1.SuggestResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.SuggestRequest,
      dev.holdfast.v1.SuggestResponse> getSuggestMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.SuggestRequest, dev.holdfast.v1.SuggestResponse> getSuggestMethod;
    if ((getSuggestMethod = AutocompleteServiceGrpc.getSuggestMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getSuggestMethod = AutocompleteServiceGrpc.getSuggestMethod) == null) {
          AutocompleteServiceGrpc.getSuggestMethod = getSuggestMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.SuggestRequest, dev.holdfast.v1.SuggestResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Suggest"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.SuggestRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.SuggestResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("Suggest"))
              .build();
        }
      }
    }
    return getSuggestMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.SuggestStreamRequest,
      dev.holdfast.v1.SuggestStreamResponse> getSuggestStreamMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SuggestStream",
      requestType = dev.holdfast.v1.SuggestStreamRequest.class,
      responseType = dev.holdfast.v1.SuggestStreamResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.SuggestStreamRequest,
      dev.holdfast.v1.SuggestStreamResponse> getSuggestStreamMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.SuggestStreamRequest, dev.holdfast.v1.SuggestStreamResponse> getSuggestStreamMethod;
    if ((getSuggestStreamMethod = AutocompleteServiceGrpc.getSuggestStreamMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getSuggestStreamMethod = AutocompleteServiceGrpc.getSuggestStreamMethod) == null) {
          AutocompleteServiceGrpc.getSuggestStreamMethod = getSuggestStreamMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.SuggestStreamRequest, dev.holdfast.v1.SuggestStreamResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SuggestStream"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.SuggestStreamRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.SuggestStreamResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("SuggestStream"))
              .build();
        }
      }
    }
    return getSuggestStreamMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.ListEntriesRequest,
      dev.holdfast.v1.ListEntriesResponse> getListEntriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListEntries",
      requestType = dev.holdfast.v1.ListEntriesRequest.class,
      responseType = dev.holdfast.v1.ListEntriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.ListEntriesRequest,
      dev.holdfast.v1.ListEntriesResponse> getListEntriesMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.ListEntriesRequest, dev.holdfast.v1.ListEntriesResponse> getListEntriesMethod;
    if ((getListEntriesMethod = AutocompleteServiceGrpc.getListEntriesMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getListEntriesMethod = AutocompleteServiceGrpc.getListEntriesMethod) == null) {
          AutocompleteServiceGrpc.getListEntriesMethod = getListEntriesMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.ListEntriesRequest, dev.holdfast.v1.ListEntriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListEntries"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListEntriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListEntriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("ListEntries"))
              .build();
        }
      }
    }
    return getListEntriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.GetDictionaryRequest,
      dev.holdfast.v1.GetDictionaryResponse> getGetDictionaryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetDictionary",
      requestType = dev.holdfast.v1.GetDictionaryRequest.class,
      responseType = dev.holdfast.v1.GetDictionaryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.GetDictionaryRequest,
      dev.holdfast.v1.GetDictionaryResponse> getGetDictionaryMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.GetDictionaryRequest, dev.holdfast.v1.GetDictionaryResponse> getGetDictionaryMethod;
    if ((getGetDictionaryMethod = AutocompleteServiceGrpc.getGetDictionaryMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getGetDictionaryMethod = AutocompleteServiceGrpc.getGetDictionaryMethod) == null) {
          AutocompleteServiceGrpc.getGetDictionaryMethod = getGetDictionaryMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.GetDictionaryRequest, dev.holdfast.v1.GetDictionaryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetDictionary"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.GetDictionaryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.GetDictionaryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("GetDictionary"))
              .build();
        }
      }
    }
    return getGetDictionaryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.ListDictionariesRequest,
      dev.holdfast.v1.ListDictionariesResponse> getListDictionariesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListDictionaries",
      requestType = dev.holdfast.v1.ListDictionariesRequest.class,
      responseType = dev.holdfast.v1.ListDictionariesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.ListDictionariesRequest,
      dev.holdfast.v1.ListDictionariesResponse> getListDictionariesMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.ListDictionariesRequest, dev.holdfast.v1.ListDictionariesResponse> getListDictionariesMethod;
    if ((getListDictionariesMethod = AutocompleteServiceGrpc.getListDictionariesMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getListDictionariesMethod = AutocompleteServiceGrpc.getListDictionariesMethod) == null) {
          AutocompleteServiceGrpc.getListDictionariesMethod = getListDictionariesMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.ListDictionariesRequest, dev.holdfast.v1.ListDictionariesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListDictionaries"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListDictionariesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.ListDictionariesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("ListDictionaries"))
              .build();
        }
      }
    }
    return getListDictionariesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteDictionaryRequest,
      dev.holdfast.v1.DeleteDictionaryResponse> getDeleteDictionaryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteDictionary",
      requestType = dev.holdfast.v1.DeleteDictionaryRequest.class,
      responseType = dev.holdfast.v1.DeleteDictionaryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteDictionaryRequest,
      dev.holdfast.v1.DeleteDictionaryResponse> getDeleteDictionaryMethod() {
    io.grpc.MethodDescriptor<dev.holdfast.v1.DeleteDictionaryRequest, dev.holdfast.v1.DeleteDictionaryResponse> getDeleteDictionaryMethod;
    if ((getDeleteDictionaryMethod = AutocompleteServiceGrpc.getDeleteDictionaryMethod) == null) {
      synchronized (AutocompleteServiceGrpc.class) {
        if ((getDeleteDictionaryMethod = AutocompleteServiceGrpc.getDeleteDictionaryMethod) == null) {
          AutocompleteServiceGrpc.getDeleteDictionaryMethod = getDeleteDictionaryMethod =
              io.grpc.MethodDescriptor.<dev.holdfast.v1.DeleteDictionaryRequest, dev.holdfast.v1.DeleteDictionaryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteDictionary"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.DeleteDictionaryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.holdfast.v1.DeleteDictionaryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AutocompleteServiceMethodDescriptorSupplier("DeleteDictionary"))
              .build();
        }
      }
    }
    return getDeleteDictionaryMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static AutocompleteServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AutocompleteServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AutocompleteServiceStub>() {
        @java.lang.Override
        public AutocompleteServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AutocompleteServiceStub(channel, callOptions);
        }
      };
    return AutocompleteServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static AutocompleteServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AutocompleteServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AutocompleteServiceBlockingStub>() {
        @java.lang.Override
        public AutocompleteServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AutocompleteServiceBlockingStub(channel, callOptions);
        }
      };
    return AutocompleteServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static AutocompleteServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AutocompleteServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AutocompleteServiceFutureStub>() {
        @java.lang.Override
        public AutocompleteServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AutocompleteServiceFutureStub(channel, callOptions);
        }
      };
    return AutocompleteServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Suggestions while somebody types. A dictionary is a set of entries that all its callers share; a list
   * of recents is what one caller chose lately. Both live in the same store as the locks, and every server
   * over it sees the same.
   * How texts are compared. Queries, texts and aliases are folded in the server, in any script: Unicode
   * compatibility forms are made one and case is removed (NFKC, full case folding, NFKC again), so
   * `straße` finds `STRASSE` and full-width finds half-width. A dictionary whose profile drops accents
   * also takes combining marks away: `resume` finds `résumé`, and the other way round. White space is left
   * as it is.
   * How suggestions are ordered. First by MatchKind, in the order of its values; an entry appears once, at
   * the best of the kinds asked for, over its text and its aliases. Within a kind first the caller's
   * recents, the latest first; then by weight plus selections, the greater first; then by folded text and
   * by `entry_id`, each by code points.
   * How recents join in. A recent matches by its own text, folded as the dictionary's texts are, and
   * appears also where the dictionary lacks it. It is one with the dictionary's entry of the same
   * `entry_id` (where both have one), else of the same folded text: then the recent is shown and the entry
   * is not.
   * Bounds. Names of lists and dictionaries, and an `entry_id`: 1 to 512 bytes of UTF-8. A text or an
   * alias: 1 to 512 bytes; a query: up to 512. None of these may hold control characters or U+FFFD; any
   * other character is data and never syntax. A payload is any bytes, at most 1 KiB. A request is at most
   * 4 MiB, which gRPC itself refuses to exceed.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING, INTERNAL; one that writes with STORE_FULL
   * and OUTCOME_UNKNOWN too. After OUTCOME_UNKNOWN each call says of itself what a repeat does.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Puts a text in front of a list of recents. One that is there already moves to the front and takes
     * what this call says: it is the same if it has the same `entry_id`, or, where neither has one, the
     * same text to the letter. What exceeds `capacity` is forgotten, the oldest first; so is what exceeds
     * 512 KiB, room for 1000 recents of 400 bytes or about 240 of the greatest size. The list comes into
     * being by its first recent, and is forgotten when none is added to it for a long time: 90 days, if
     * the server has not been set up otherwise.
     * Idempotent: a repeat adds nothing twice; it only moves the recent in front of what was added
     * meanwhile.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void addRecent(dev.holdfast.v1.AddRecentRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.AddRecentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAddRecentMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes one recent out of a list. Idempotent. That there was none is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void removeRecent(dev.holdfast.v1.RemoveRecentRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RemoveRecentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRemoveRecentMethod(), responseObserver);
    }

    /**
     * <pre>
     * Suggests out of a list of recents alone, with no dictionary: accents are dropped, and typos allowed
     * for. Within a kind the latest come first. An empty query lists the latest. A list that does not
     * exist has no recents; that is no error. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void suggestRecents(dev.holdfast.v1.SuggestRecentsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestRecentsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSuggestRecentsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a list of recents as a whole: forgets a user. Idempotent. That there was none is an answer,
     * not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void deleteRecents(dev.holdfast.v1.DeleteRecentsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteRecentsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteRecentsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Creates an empty dictionary. Idempotent: where it exists with the same profile the answer is OK, and
     * it keeps its entries.
     * Errors: INVALID_FIELD, DICTIONARY_EXISTS (with another profile, which cannot be changed).
     * </pre>
     */
    default void createDictionary(dev.holdfast.v1.CreateDictionaryRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.CreateDictionaryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateDictionaryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Puts entries into a dictionary: each is new, or replaces the one with its `entry_id` as a whole,
     * whose selections stay. Where one call has an `entry_id` twice, the last one counts. They can be
     * found when the answer arrives, and by imports under way they are kept: see ImportDictionary.
     * What it takes grows with the characters of texts and aliases: of names some thousands a second, of
     * entries with 16 aliases of 512 bytes two or three. Give more of these in smaller calls.
     * Idempotent: a repeat does no harm. A call that fails may have put some of its entries: repeat it.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    default void putEntries(dev.holdfast.v1.PutEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.PutEntriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutEntriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes entries, and with them their selections. By imports under way they stay deleted: see
     * ImportDictionary.
     * Idempotent: that some or all are not there is no error. A call that fails may have deleted some of
     * them: repeat it, though `deleted_count` then lacks those that were gone already.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    default void deleteEntries(dev.holdfast.v1.DeleteEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteEntriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteEntriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replaces all entries of a dictionary at once; creates it if there is none, which then is not there
     * before the commit. The stream is one `start`, then any number of `batch`, then one `commit`, then
     * its half-close.
     * The new generation is built aside while everybody goes on with the present one, and only `commit`
     * with the right `entry_count` swaps it in. A stream that ends otherwise, by half-close, cancel,
     * deadline, error or a client that died, changes nothing, and what was built is cleaned up. Selections
     * stay with their `entry_id`. What PutEntries and DeleteEntries do while the import is under way beats
     * its batches: it holds in the new generation too.
     * Of two imports at the same time the first commit wins, and the other one ends with IMPORT_CONFLICT.
     * The server reads as fast as the store takes it: where the client's library lets a write wait, wait
     * for it.
     * A repeat of the whole stream does no harm, unless another import was committed meanwhile, which it
     * replaces.
     * Errors: INVALID_FIELD (also a part out of order, a stream without `commit`, a wrong `entry_count`;
     * the violation names for instance `batch.entries[3].text`, and nothing is changed), DICTIONARY_EXISTS
     * (with another profile than `start` has), IMPORT_CONFLICT, QUOTA_EXCEEDED (too many imports under way
     * at this server or of this dictionary, or nothing of this one came for 2 minutes).
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.holdfast.v1.ImportDictionaryRequest> importDictionary(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ImportDictionaryResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getImportDictionaryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Counts that an entry was chosen, which moves it up among entries of the same kind. That there is no
     * such entry is an answer, not an error.
     * Not idempotent: each call counts. After OUTCOME_UNKNOWN do not repeat it blindly: one selection too
     * few does less harm than one counted again and again.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    default void recordSelection(dev.holdfast.v1.RecordSelectionRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RecordSelectionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRecordSelectionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Suggests entries for a query, the caller's recents among them if `recents_list` says whose. An empty
     * query gives the top entries. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too), NO_SUCH_DICTIONARY.
     * </pre>
     */
    default void suggest(dev.holdfast.v1.SuggestRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSuggestMethod(), responseObserver);
    }

    /**
     * <pre>
     * Suggests on every keystroke, over one stream: cheaper than a call for each, and with no answers that
     * come too late. Keep one open for as long as somebody types; an idle one costs nothing but memory.
     * Queries are answered in their order, and a newer query supersedes every older one that is not yet
     * answered: send each keystroke, an answer to one of them means that nothing older will come. While
     * the client does not read, nothing is looked up; then its newest query is.
     * A bad query is answered by `error` in the stream, which goes on. After the client's half-close the
     * last query is still answered, and then the stream ends OK.
     * Errors of the stream itself: DRAINING (open another one, and send the last query again),
     * QUOTA_EXCEEDED (too many of them at this server).
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestStreamRequest> suggestStream(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestStreamResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getSuggestStreamMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists entries between two bounds, by folded text, those of one text in the order in which they came,
     * in pages. What changes between two pages shows as far as it lies after the first. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too), NO_SUCH_DICTIONARY.
     * </pre>
     */
    default void listEntries(dev.holdfast.v1.ListEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListEntriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListEntriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads how large a dictionary is, what was fixed when it was created, and which imports are under
     * way. A picture of a moment that may be past when it arrives. Changes nothing.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    default void getDictionary(dev.holdfast.v1.GetDictionaryRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.GetDictionaryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetDictionaryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists dictionaries by name, in the order of its bytes, in pages. One that is created or deleted
     * meanwhile may or may not be listed. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too).
     * </pre>
     */
    default void listDictionaries(dev.holdfast.v1.ListDictionariesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListDictionariesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListDictionariesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a dictionary with all its entries and selections; imports under way end with
     * IMPORT_CONFLICT. The name may be used anew at once, with any profile. Lists of recents stay.
     * Idempotent: that there was none is an answer, not an error. But where the name was made anew
     * meanwhile, it is that dictionary which a repeat deletes.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void deleteDictionary(dev.holdfast.v1.DeleteDictionaryRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteDictionaryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteDictionaryMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service AutocompleteService.
   * <pre>
   * Suggestions while somebody types. A dictionary is a set of entries that all its callers share; a list
   * of recents is what one caller chose lately. Both live in the same store as the locks, and every server
   * over it sees the same.
   * How texts are compared. Queries, texts and aliases are folded in the server, in any script: Unicode
   * compatibility forms are made one and case is removed (NFKC, full case folding, NFKC again), so
   * `straße` finds `STRASSE` and full-width finds half-width. A dictionary whose profile drops accents
   * also takes combining marks away: `resume` finds `résumé`, and the other way round. White space is left
   * as it is.
   * How suggestions are ordered. First by MatchKind, in the order of its values; an entry appears once, at
   * the best of the kinds asked for, over its text and its aliases. Within a kind first the caller's
   * recents, the latest first; then by weight plus selections, the greater first; then by folded text and
   * by `entry_id`, each by code points.
   * How recents join in. A recent matches by its own text, folded as the dictionary's texts are, and
   * appears also where the dictionary lacks it. It is one with the dictionary's entry of the same
   * `entry_id` (where both have one), else of the same folded text: then the recent is shown and the entry
   * is not.
   * Bounds. Names of lists and dictionaries, and an `entry_id`: 1 to 512 bytes of UTF-8. A text or an
   * alias: 1 to 512 bytes; a query: up to 512. None of these may hold control characters or U+FFFD; any
   * other character is data and never syntax. A payload is any bytes, at most 1 KiB. A request is at most
   * 4 MiB, which gRPC itself refuses to exceed.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING, INTERNAL; one that writes with STORE_FULL
   * and OUTCOME_UNKNOWN too. After OUTCOME_UNKNOWN each call says of itself what a repeat does.
   * </pre>
   */
  public static abstract class AutocompleteServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return AutocompleteServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service AutocompleteService.
   * <pre>
   * Suggestions while somebody types. A dictionary is a set of entries that all its callers share; a list
   * of recents is what one caller chose lately. Both live in the same store as the locks, and every server
   * over it sees the same.
   * How texts are compared. Queries, texts and aliases are folded in the server, in any script: Unicode
   * compatibility forms are made one and case is removed (NFKC, full case folding, NFKC again), so
   * `straße` finds `STRASSE` and full-width finds half-width. A dictionary whose profile drops accents
   * also takes combining marks away: `resume` finds `résumé`, and the other way round. White space is left
   * as it is.
   * How suggestions are ordered. First by MatchKind, in the order of its values; an entry appears once, at
   * the best of the kinds asked for, over its text and its aliases. Within a kind first the caller's
   * recents, the latest first; then by weight plus selections, the greater first; then by folded text and
   * by `entry_id`, each by code points.
   * How recents join in. A recent matches by its own text, folded as the dictionary's texts are, and
   * appears also where the dictionary lacks it. It is one with the dictionary's entry of the same
   * `entry_id` (where both have one), else of the same folded text: then the recent is shown and the entry
   * is not.
   * Bounds. Names of lists and dictionaries, and an `entry_id`: 1 to 512 bytes of UTF-8. A text or an
   * alias: 1 to 512 bytes; a query: up to 512. None of these may hold control characters or U+FFFD; any
   * other character is data and never syntax. A payload is any bytes, at most 1 KiB. A request is at most
   * 4 MiB, which gRPC itself refuses to exceed.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING, INTERNAL; one that writes with STORE_FULL
   * and OUTCOME_UNKNOWN too. After OUTCOME_UNKNOWN each call says of itself what a repeat does.
   * </pre>
   */
  public static final class AutocompleteServiceStub
      extends io.grpc.stub.AbstractAsyncStub<AutocompleteServiceStub> {
    private AutocompleteServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AutocompleteServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AutocompleteServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Puts a text in front of a list of recents. One that is there already moves to the front and takes
     * what this call says: it is the same if it has the same `entry_id`, or, where neither has one, the
     * same text to the letter. What exceeds `capacity` is forgotten, the oldest first; so is what exceeds
     * 512 KiB, room for 1000 recents of 400 bytes or about 240 of the greatest size. The list comes into
     * being by its first recent, and is forgotten when none is added to it for a long time: 90 days, if
     * the server has not been set up otherwise.
     * Idempotent: a repeat adds nothing twice; it only moves the recent in front of what was added
     * meanwhile.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void addRecent(dev.holdfast.v1.AddRecentRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.AddRecentResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAddRecentMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes one recent out of a list. Idempotent. That there was none is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void removeRecent(dev.holdfast.v1.RemoveRecentRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RemoveRecentResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRemoveRecentMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Suggests out of a list of recents alone, with no dictionary: accents are dropped, and typos allowed
     * for. Within a kind the latest come first. An empty query lists the latest. A list that does not
     * exist has no recents; that is no error. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void suggestRecents(dev.holdfast.v1.SuggestRecentsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestRecentsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSuggestRecentsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a list of recents as a whole: forgets a user. Idempotent. That there was none is an answer,
     * not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void deleteRecents(dev.holdfast.v1.DeleteRecentsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteRecentsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteRecentsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Creates an empty dictionary. Idempotent: where it exists with the same profile the answer is OK, and
     * it keeps its entries.
     * Errors: INVALID_FIELD, DICTIONARY_EXISTS (with another profile, which cannot be changed).
     * </pre>
     */
    public void createDictionary(dev.holdfast.v1.CreateDictionaryRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.CreateDictionaryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateDictionaryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Puts entries into a dictionary: each is new, or replaces the one with its `entry_id` as a whole,
     * whose selections stay. Where one call has an `entry_id` twice, the last one counts. They can be
     * found when the answer arrives, and by imports under way they are kept: see ImportDictionary.
     * What it takes grows with the characters of texts and aliases: of names some thousands a second, of
     * entries with 16 aliases of 512 bytes two or three. Give more of these in smaller calls.
     * Idempotent: a repeat does no harm. A call that fails may have put some of its entries: repeat it.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public void putEntries(dev.holdfast.v1.PutEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.PutEntriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutEntriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes entries, and with them their selections. By imports under way they stay deleted: see
     * ImportDictionary.
     * Idempotent: that some or all are not there is no error. A call that fails may have deleted some of
     * them: repeat it, though `deleted_count` then lacks those that were gone already.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public void deleteEntries(dev.holdfast.v1.DeleteEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteEntriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteEntriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Replaces all entries of a dictionary at once; creates it if there is none, which then is not there
     * before the commit. The stream is one `start`, then any number of `batch`, then one `commit`, then
     * its half-close.
     * The new generation is built aside while everybody goes on with the present one, and only `commit`
     * with the right `entry_count` swaps it in. A stream that ends otherwise, by half-close, cancel,
     * deadline, error or a client that died, changes nothing, and what was built is cleaned up. Selections
     * stay with their `entry_id`. What PutEntries and DeleteEntries do while the import is under way beats
     * its batches: it holds in the new generation too.
     * Of two imports at the same time the first commit wins, and the other one ends with IMPORT_CONFLICT.
     * The server reads as fast as the store takes it: where the client's library lets a write wait, wait
     * for it.
     * A repeat of the whole stream does no harm, unless another import was committed meanwhile, which it
     * replaces.
     * Errors: INVALID_FIELD (also a part out of order, a stream without `commit`, a wrong `entry_count`;
     * the violation names for instance `batch.entries[3].text`, and nothing is changed), DICTIONARY_EXISTS
     * (with another profile than `start` has), IMPORT_CONFLICT, QUOTA_EXCEEDED (too many imports under way
     * at this server or of this dictionary, or nothing of this one came for 2 minutes).
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.holdfast.v1.ImportDictionaryRequest> importDictionary(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ImportDictionaryResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncClientStreamingCall(
          getChannel().newCall(getImportDictionaryMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Counts that an entry was chosen, which moves it up among entries of the same kind. That there is no
     * such entry is an answer, not an error.
     * Not idempotent: each call counts. After OUTCOME_UNKNOWN do not repeat it blindly: one selection too
     * few does less harm than one counted again and again.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public void recordSelection(dev.holdfast.v1.RecordSelectionRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RecordSelectionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRecordSelectionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Suggests entries for a query, the caller's recents among them if `recents_list` says whose. An empty
     * query gives the top entries. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too), NO_SUCH_DICTIONARY.
     * </pre>
     */
    public void suggest(dev.holdfast.v1.SuggestRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSuggestMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Suggests on every keystroke, over one stream: cheaper than a call for each, and with no answers that
     * come too late. Keep one open for as long as somebody types; an idle one costs nothing but memory.
     * Queries are answered in their order, and a newer query supersedes every older one that is not yet
     * answered: send each keystroke, an answer to one of them means that nothing older will come. While
     * the client does not read, nothing is looked up; then its newest query is.
     * A bad query is answered by `error` in the stream, which goes on. After the client's half-close the
     * last query is still answered, and then the stream ends OK.
     * Errors of the stream itself: DRAINING (open another one, and send the last query again),
     * QUOTA_EXCEEDED (too many of them at this server).
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestStreamRequest> suggestStream(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestStreamResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getSuggestStreamMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Lists entries between two bounds, by folded text, those of one text in the order in which they came,
     * in pages. What changes between two pages shows as far as it lies after the first. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too), NO_SUCH_DICTIONARY.
     * </pre>
     */
    public void listEntries(dev.holdfast.v1.ListEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListEntriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListEntriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads how large a dictionary is, what was fixed when it was created, and which imports are under
     * way. A picture of a moment that may be past when it arrives. Changes nothing.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public void getDictionary(dev.holdfast.v1.GetDictionaryRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.GetDictionaryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetDictionaryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists dictionaries by name, in the order of its bytes, in pages. One that is created or deleted
     * meanwhile may or may not be listed. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too).
     * </pre>
     */
    public void listDictionaries(dev.holdfast.v1.ListDictionariesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListDictionariesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListDictionariesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a dictionary with all its entries and selections; imports under way end with
     * IMPORT_CONFLICT. The name may be used anew at once, with any profile. Lists of recents stay.
     * Idempotent: that there was none is an answer, not an error. But where the name was made anew
     * meanwhile, it is that dictionary which a repeat deletes.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public void deleteDictionary(dev.holdfast.v1.DeleteDictionaryRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteDictionaryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteDictionaryMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service AutocompleteService.
   * <pre>
   * Suggestions while somebody types. A dictionary is a set of entries that all its callers share; a list
   * of recents is what one caller chose lately. Both live in the same store as the locks, and every server
   * over it sees the same.
   * How texts are compared. Queries, texts and aliases are folded in the server, in any script: Unicode
   * compatibility forms are made one and case is removed (NFKC, full case folding, NFKC again), so
   * `straße` finds `STRASSE` and full-width finds half-width. A dictionary whose profile drops accents
   * also takes combining marks away: `resume` finds `résumé`, and the other way round. White space is left
   * as it is.
   * How suggestions are ordered. First by MatchKind, in the order of its values; an entry appears once, at
   * the best of the kinds asked for, over its text and its aliases. Within a kind first the caller's
   * recents, the latest first; then by weight plus selections, the greater first; then by folded text and
   * by `entry_id`, each by code points.
   * How recents join in. A recent matches by its own text, folded as the dictionary's texts are, and
   * appears also where the dictionary lacks it. It is one with the dictionary's entry of the same
   * `entry_id` (where both have one), else of the same folded text: then the recent is shown and the entry
   * is not.
   * Bounds. Names of lists and dictionaries, and an `entry_id`: 1 to 512 bytes of UTF-8. A text or an
   * alias: 1 to 512 bytes; a query: up to 512. None of these may hold control characters or U+FFFD; any
   * other character is data and never syntax. A payload is any bytes, at most 1 KiB. A request is at most
   * 4 MiB, which gRPC itself refuses to exceed.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING, INTERNAL; one that writes with STORE_FULL
   * and OUTCOME_UNKNOWN too. After OUTCOME_UNKNOWN each call says of itself what a repeat does.
   * </pre>
   */
  public static final class AutocompleteServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<AutocompleteServiceBlockingStub> {
    private AutocompleteServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AutocompleteServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AutocompleteServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Puts a text in front of a list of recents. One that is there already moves to the front and takes
     * what this call says: it is the same if it has the same `entry_id`, or, where neither has one, the
     * same text to the letter. What exceeds `capacity` is forgotten, the oldest first; so is what exceeds
     * 512 KiB, room for 1000 recents of 400 bytes or about 240 of the greatest size. The list comes into
     * being by its first recent, and is forgotten when none is added to it for a long time: 90 days, if
     * the server has not been set up otherwise.
     * Idempotent: a repeat adds nothing twice; it only moves the recent in front of what was added
     * meanwhile.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.AddRecentResponse addRecent(dev.holdfast.v1.AddRecentRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAddRecentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes one recent out of a list. Idempotent. That there was none is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.RemoveRecentResponse removeRecent(dev.holdfast.v1.RemoveRecentRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRemoveRecentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Suggests out of a list of recents alone, with no dictionary: accents are dropped, and typos allowed
     * for. Within a kind the latest come first. An empty query lists the latest. A list that does not
     * exist has no recents; that is no error. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.SuggestRecentsResponse suggestRecents(dev.holdfast.v1.SuggestRecentsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSuggestRecentsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a list of recents as a whole: forgets a user. Idempotent. That there was none is an answer,
     * not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.DeleteRecentsResponse deleteRecents(dev.holdfast.v1.DeleteRecentsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteRecentsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates an empty dictionary. Idempotent: where it exists with the same profile the answer is OK, and
     * it keeps its entries.
     * Errors: INVALID_FIELD, DICTIONARY_EXISTS (with another profile, which cannot be changed).
     * </pre>
     */
    public dev.holdfast.v1.CreateDictionaryResponse createDictionary(dev.holdfast.v1.CreateDictionaryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateDictionaryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Puts entries into a dictionary: each is new, or replaces the one with its `entry_id` as a whole,
     * whose selections stay. Where one call has an `entry_id` twice, the last one counts. They can be
     * found when the answer arrives, and by imports under way they are kept: see ImportDictionary.
     * What it takes grows with the characters of texts and aliases: of names some thousands a second, of
     * entries with 16 aliases of 512 bytes two or three. Give more of these in smaller calls.
     * Idempotent: a repeat does no harm. A call that fails may have put some of its entries: repeat it.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public dev.holdfast.v1.PutEntriesResponse putEntries(dev.holdfast.v1.PutEntriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutEntriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes entries, and with them their selections. By imports under way they stay deleted: see
     * ImportDictionary.
     * Idempotent: that some or all are not there is no error. A call that fails may have deleted some of
     * them: repeat it, though `deleted_count` then lacks those that were gone already.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public dev.holdfast.v1.DeleteEntriesResponse deleteEntries(dev.holdfast.v1.DeleteEntriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteEntriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Counts that an entry was chosen, which moves it up among entries of the same kind. That there is no
     * such entry is an answer, not an error.
     * Not idempotent: each call counts. After OUTCOME_UNKNOWN do not repeat it blindly: one selection too
     * few does less harm than one counted again and again.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public dev.holdfast.v1.RecordSelectionResponse recordSelection(dev.holdfast.v1.RecordSelectionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRecordSelectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Suggests entries for a query, the caller's recents among them if `recents_list` says whose. An empty
     * query gives the top entries. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too), NO_SUCH_DICTIONARY.
     * </pre>
     */
    public dev.holdfast.v1.SuggestResponse suggest(dev.holdfast.v1.SuggestRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSuggestMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists entries between two bounds, by folded text, those of one text in the order in which they came,
     * in pages. What changes between two pages shows as far as it lies after the first. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too), NO_SUCH_DICTIONARY.
     * </pre>
     */
    public dev.holdfast.v1.ListEntriesResponse listEntries(dev.holdfast.v1.ListEntriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListEntriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads how large a dictionary is, what was fixed when it was created, and which imports are under
     * way. A picture of a moment that may be past when it arrives. Changes nothing.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public dev.holdfast.v1.GetDictionaryResponse getDictionary(dev.holdfast.v1.GetDictionaryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetDictionaryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists dictionaries by name, in the order of its bytes, in pages. One that is created or deleted
     * meanwhile may or may not be listed. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too).
     * </pre>
     */
    public dev.holdfast.v1.ListDictionariesResponse listDictionaries(dev.holdfast.v1.ListDictionariesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListDictionariesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a dictionary with all its entries and selections; imports under way end with
     * IMPORT_CONFLICT. The name may be used anew at once, with any profile. Lists of recents stay.
     * Idempotent: that there was none is an answer, not an error. But where the name was made anew
     * meanwhile, it is that dictionary which a repeat deletes.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.DeleteDictionaryResponse deleteDictionary(dev.holdfast.v1.DeleteDictionaryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteDictionaryMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service AutocompleteService.
   * <pre>
   * Suggestions while somebody types. A dictionary is a set of entries that all its callers share; a list
   * of recents is what one caller chose lately. Both live in the same store as the locks, and every server
   * over it sees the same.
   * How texts are compared. Queries, texts and aliases are folded in the server, in any script: Unicode
   * compatibility forms are made one and case is removed (NFKC, full case folding, NFKC again), so
   * `straße` finds `STRASSE` and full-width finds half-width. A dictionary whose profile drops accents
   * also takes combining marks away: `resume` finds `résumé`, and the other way round. White space is left
   * as it is.
   * How suggestions are ordered. First by MatchKind, in the order of its values; an entry appears once, at
   * the best of the kinds asked for, over its text and its aliases. Within a kind first the caller's
   * recents, the latest first; then by weight plus selections, the greater first; then by folded text and
   * by `entry_id`, each by code points.
   * How recents join in. A recent matches by its own text, folded as the dictionary's texts are, and
   * appears also where the dictionary lacks it. It is one with the dictionary's entry of the same
   * `entry_id` (where both have one), else of the same folded text: then the recent is shown and the entry
   * is not.
   * Bounds. Names of lists and dictionaries, and an `entry_id`: 1 to 512 bytes of UTF-8. A text or an
   * alias: 1 to 512 bytes; a query: up to 512. None of these may hold control characters or U+FFFD; any
   * other character is data and never syntax. A payload is any bytes, at most 1 KiB. A request is at most
   * 4 MiB, which gRPC itself refuses to exceed.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING, INTERNAL; one that writes with STORE_FULL
   * and OUTCOME_UNKNOWN too. After OUTCOME_UNKNOWN each call says of itself what a repeat does.
   * </pre>
   */
  public static final class AutocompleteServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<AutocompleteServiceFutureStub> {
    private AutocompleteServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AutocompleteServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AutocompleteServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Puts a text in front of a list of recents. One that is there already moves to the front and takes
     * what this call says: it is the same if it has the same `entry_id`, or, where neither has one, the
     * same text to the letter. What exceeds `capacity` is forgotten, the oldest first; so is what exceeds
     * 512 KiB, room for 1000 recents of 400 bytes or about 240 of the greatest size. The list comes into
     * being by its first recent, and is forgotten when none is added to it for a long time: 90 days, if
     * the server has not been set up otherwise.
     * Idempotent: a repeat adds nothing twice; it only moves the recent in front of what was added
     * meanwhile.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.AddRecentResponse> addRecent(
        dev.holdfast.v1.AddRecentRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAddRecentMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes one recent out of a list. Idempotent. That there was none is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.RemoveRecentResponse> removeRecent(
        dev.holdfast.v1.RemoveRecentRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRemoveRecentMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Suggests out of a list of recents alone, with no dictionary: accents are dropped, and typos allowed
     * for. Within a kind the latest come first. An empty query lists the latest. A list that does not
     * exist has no recents; that is no error. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.SuggestRecentsResponse> suggestRecents(
        dev.holdfast.v1.SuggestRecentsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSuggestRecentsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a list of recents as a whole: forgets a user. Idempotent. That there was none is an answer,
     * not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.DeleteRecentsResponse> deleteRecents(
        dev.holdfast.v1.DeleteRecentsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteRecentsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Creates an empty dictionary. Idempotent: where it exists with the same profile the answer is OK, and
     * it keeps its entries.
     * Errors: INVALID_FIELD, DICTIONARY_EXISTS (with another profile, which cannot be changed).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.CreateDictionaryResponse> createDictionary(
        dev.holdfast.v1.CreateDictionaryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateDictionaryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Puts entries into a dictionary: each is new, or replaces the one with its `entry_id` as a whole,
     * whose selections stay. Where one call has an `entry_id` twice, the last one counts. They can be
     * found when the answer arrives, and by imports under way they are kept: see ImportDictionary.
     * What it takes grows with the characters of texts and aliases: of names some thousands a second, of
     * entries with 16 aliases of 512 bytes two or three. Give more of these in smaller calls.
     * Idempotent: a repeat does no harm. A call that fails may have put some of its entries: repeat it.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.PutEntriesResponse> putEntries(
        dev.holdfast.v1.PutEntriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutEntriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes entries, and with them their selections. By imports under way they stay deleted: see
     * ImportDictionary.
     * Idempotent: that some or all are not there is no error. A call that fails may have deleted some of
     * them: repeat it, though `deleted_count` then lacks those that were gone already.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.DeleteEntriesResponse> deleteEntries(
        dev.holdfast.v1.DeleteEntriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteEntriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Counts that an entry was chosen, which moves it up among entries of the same kind. That there is no
     * such entry is an answer, not an error.
     * Not idempotent: each call counts. After OUTCOME_UNKNOWN do not repeat it blindly: one selection too
     * few does less harm than one counted again and again.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.RecordSelectionResponse> recordSelection(
        dev.holdfast.v1.RecordSelectionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRecordSelectionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Suggests entries for a query, the caller's recents among them if `recents_list` says whose. An empty
     * query gives the top entries. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too), NO_SUCH_DICTIONARY.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.SuggestResponse> suggest(
        dev.holdfast.v1.SuggestRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSuggestMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists entries between two bounds, by folded text, those of one text in the order in which they came,
     * in pages. What changes between two pages shows as far as it lies after the first. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too), NO_SUCH_DICTIONARY.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.ListEntriesResponse> listEntries(
        dev.holdfast.v1.ListEntriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListEntriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads how large a dictionary is, what was fixed when it was created, and which imports are under
     * way. A picture of a moment that may be past when it arrives. Changes nothing.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.GetDictionaryResponse> getDictionary(
        dev.holdfast.v1.GetDictionaryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetDictionaryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists dictionaries by name, in the order of its bytes, in pages. One that is created or deleted
     * meanwhile may or may not be listed. Changes nothing.
     * Errors: INVALID_FIELD (a malformed `page_token` too).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.ListDictionariesResponse> listDictionaries(
        dev.holdfast.v1.ListDictionariesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListDictionariesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a dictionary with all its entries and selections; imports under way end with
     * IMPORT_CONFLICT. The name may be used anew at once, with any profile. Lists of recents stay.
     * Idempotent: that there was none is an answer, not an error. But where the name was made anew
     * meanwhile, it is that dictionary which a repeat deletes.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.DeleteDictionaryResponse> deleteDictionary(
        dev.holdfast.v1.DeleteDictionaryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteDictionaryMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ADD_RECENT = 0;
  private static final int METHODID_REMOVE_RECENT = 1;
  private static final int METHODID_SUGGEST_RECENTS = 2;
  private static final int METHODID_DELETE_RECENTS = 3;
  private static final int METHODID_CREATE_DICTIONARY = 4;
  private static final int METHODID_PUT_ENTRIES = 5;
  private static final int METHODID_DELETE_ENTRIES = 6;
  private static final int METHODID_RECORD_SELECTION = 7;
  private static final int METHODID_SUGGEST = 8;
  private static final int METHODID_LIST_ENTRIES = 9;
  private static final int METHODID_GET_DICTIONARY = 10;
  private static final int METHODID_LIST_DICTIONARIES = 11;
  private static final int METHODID_DELETE_DICTIONARY = 12;
  private static final int METHODID_IMPORT_DICTIONARY = 13;
  private static final int METHODID_SUGGEST_STREAM = 14;

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
        case METHODID_ADD_RECENT:
          serviceImpl.addRecent((dev.holdfast.v1.AddRecentRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.AddRecentResponse>) responseObserver);
          break;
        case METHODID_REMOVE_RECENT:
          serviceImpl.removeRecent((dev.holdfast.v1.RemoveRecentRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.RemoveRecentResponse>) responseObserver);
          break;
        case METHODID_SUGGEST_RECENTS:
          serviceImpl.suggestRecents((dev.holdfast.v1.SuggestRecentsRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestRecentsResponse>) responseObserver);
          break;
        case METHODID_DELETE_RECENTS:
          serviceImpl.deleteRecents((dev.holdfast.v1.DeleteRecentsRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteRecentsResponse>) responseObserver);
          break;
        case METHODID_CREATE_DICTIONARY:
          serviceImpl.createDictionary((dev.holdfast.v1.CreateDictionaryRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.CreateDictionaryResponse>) responseObserver);
          break;
        case METHODID_PUT_ENTRIES:
          serviceImpl.putEntries((dev.holdfast.v1.PutEntriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.PutEntriesResponse>) responseObserver);
          break;
        case METHODID_DELETE_ENTRIES:
          serviceImpl.deleteEntries((dev.holdfast.v1.DeleteEntriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteEntriesResponse>) responseObserver);
          break;
        case METHODID_RECORD_SELECTION:
          serviceImpl.recordSelection((dev.holdfast.v1.RecordSelectionRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.RecordSelectionResponse>) responseObserver);
          break;
        case METHODID_SUGGEST:
          serviceImpl.suggest((dev.holdfast.v1.SuggestRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestResponse>) responseObserver);
          break;
        case METHODID_LIST_ENTRIES:
          serviceImpl.listEntries((dev.holdfast.v1.ListEntriesRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.ListEntriesResponse>) responseObserver);
          break;
        case METHODID_GET_DICTIONARY:
          serviceImpl.getDictionary((dev.holdfast.v1.GetDictionaryRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.GetDictionaryResponse>) responseObserver);
          break;
        case METHODID_LIST_DICTIONARIES:
          serviceImpl.listDictionaries((dev.holdfast.v1.ListDictionariesRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.ListDictionariesResponse>) responseObserver);
          break;
        case METHODID_DELETE_DICTIONARY:
          serviceImpl.deleteDictionary((dev.holdfast.v1.DeleteDictionaryRequest) request,
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteDictionaryResponse>) responseObserver);
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
        case METHODID_IMPORT_DICTIONARY:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.importDictionary(
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.ImportDictionaryResponse>) responseObserver);
        case METHODID_SUGGEST_STREAM:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.suggestStream(
              (io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestStreamResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getAddRecentMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.AddRecentRequest,
              dev.holdfast.v1.AddRecentResponse>(
                service, METHODID_ADD_RECENT)))
        .addMethod(
          getRemoveRecentMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.RemoveRecentRequest,
              dev.holdfast.v1.RemoveRecentResponse>(
                service, METHODID_REMOVE_RECENT)))
        .addMethod(
          getSuggestRecentsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.SuggestRecentsRequest,
              dev.holdfast.v1.SuggestRecentsResponse>(
                service, METHODID_SUGGEST_RECENTS)))
        .addMethod(
          getDeleteRecentsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.DeleteRecentsRequest,
              dev.holdfast.v1.DeleteRecentsResponse>(
                service, METHODID_DELETE_RECENTS)))
        .addMethod(
          getCreateDictionaryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.CreateDictionaryRequest,
              dev.holdfast.v1.CreateDictionaryResponse>(
                service, METHODID_CREATE_DICTIONARY)))
        .addMethod(
          getPutEntriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.PutEntriesRequest,
              dev.holdfast.v1.PutEntriesResponse>(
                service, METHODID_PUT_ENTRIES)))
        .addMethod(
          getDeleteEntriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.DeleteEntriesRequest,
              dev.holdfast.v1.DeleteEntriesResponse>(
                service, METHODID_DELETE_ENTRIES)))
        .addMethod(
          getImportDictionaryMethod(),
          io.grpc.stub.ServerCalls.asyncClientStreamingCall(
            new MethodHandlers<
              dev.holdfast.v1.ImportDictionaryRequest,
              dev.holdfast.v1.ImportDictionaryResponse>(
                service, METHODID_IMPORT_DICTIONARY)))
        .addMethod(
          getRecordSelectionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.RecordSelectionRequest,
              dev.holdfast.v1.RecordSelectionResponse>(
                service, METHODID_RECORD_SELECTION)))
        .addMethod(
          getSuggestMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.SuggestRequest,
              dev.holdfast.v1.SuggestResponse>(
                service, METHODID_SUGGEST)))
        .addMethod(
          getSuggestStreamMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              dev.holdfast.v1.SuggestStreamRequest,
              dev.holdfast.v1.SuggestStreamResponse>(
                service, METHODID_SUGGEST_STREAM)))
        .addMethod(
          getListEntriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.ListEntriesRequest,
              dev.holdfast.v1.ListEntriesResponse>(
                service, METHODID_LIST_ENTRIES)))
        .addMethod(
          getGetDictionaryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.GetDictionaryRequest,
              dev.holdfast.v1.GetDictionaryResponse>(
                service, METHODID_GET_DICTIONARY)))
        .addMethod(
          getListDictionariesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.ListDictionariesRequest,
              dev.holdfast.v1.ListDictionariesResponse>(
                service, METHODID_LIST_DICTIONARIES)))
        .addMethod(
          getDeleteDictionaryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.holdfast.v1.DeleteDictionaryRequest,
              dev.holdfast.v1.DeleteDictionaryResponse>(
                service, METHODID_DELETE_DICTIONARY)))
        .build();
  }

  private static abstract class AutocompleteServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    AutocompleteServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.holdfast.v1.AutocompleteServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("AutocompleteService");
    }
  }

  private static final class AutocompleteServiceFileDescriptorSupplier
      extends AutocompleteServiceBaseDescriptorSupplier {
    AutocompleteServiceFileDescriptorSupplier() {}
  }

  private static final class AutocompleteServiceMethodDescriptorSupplier
      extends AutocompleteServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    AutocompleteServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (AutocompleteServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new AutocompleteServiceFileDescriptorSupplier())
              .addMethod(getAddRecentMethod())
              .addMethod(getRemoveRecentMethod())
              .addMethod(getSuggestRecentsMethod())
              .addMethod(getDeleteRecentsMethod())
              .addMethod(getCreateDictionaryMethod())
              .addMethod(getPutEntriesMethod())
              .addMethod(getDeleteEntriesMethod())
              .addMethod(getImportDictionaryMethod())
              .addMethod(getRecordSelectionMethod())
              .addMethod(getSuggestMethod())
              .addMethod(getSuggestStreamMethod())
              .addMethod(getListEntriesMethod())
              .addMethod(getGetDictionaryMethod())
              .addMethod(getListDictionariesMethod())
              .addMethod(getDeleteDictionaryMethod())
              .build();
        }
      }
    }
    return result;
  }
}
