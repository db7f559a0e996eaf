package dev.holdfast.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Suggestions for typed text. A dictionary is a set of entries that all callers share. A list of recents
 * contains the latest choices of one caller. Every server with the same store sees the same dictionaries
 * and lists.
 * Comparison of texts. The server folds queries, texts and aliases, in any script: NFKC, full case
 * folding, then NFKC again. So `straße` finds `STRASSE`, and full-width letters find half-width letters.
 * If the profile of a dictionary drops accents, the server also removes accents and points: the nonspacing
 * and enclosing marks whose Unicode script is Latin, Greek, Cyrillic, Hebrew, Arabic, Syriac or Inherited
 * (no single script). `resume` finds `résumé`, `résumé` finds `resume`, and `עברית` finds `עִבְרִית`. All
 * other marks are parts of letters and stay: vowels of Thai, vowel signs of Devanagari. The voiced sound
 * marks of Japanese, U+3099 and U+309A, stay too, although their script is Inherited.
 * NFKC makes some white space a plain space, for example U+00A0. Other white space is not changed.
 * Hangul is compared by whole syllables, so the query `하` does not find `한국어`.
 * Order of suggestions. First by MatchKind, in the order of its values. An entry appears once, at its
 * best requested kind over its text and its aliases. Within a kind the caller's recents come first, the
 * latest first. Then the order is by weight plus selections, highest first, then by folded text and by
 * `entry_id`, each by code points.
 * Recents among dictionary entries. A recent matches by its own folded text, and appears even if the
 * dictionary has no such entry. A recent and an entry with the same `entry_id` are one suggestion. A
 * recent without an `entry_id` is one suggestion with the latest recent of the same folded text that has
 * an `entry_id`. If there is no such recent, the recent is one suggestion with an entry of the same
 * folded text: the first one, in the order of suggestions, that belongs to no other recent. Such a
 * suggestion shows the latest of its recents, with the kind of that recent's text. If that recent has no
 * payload, the suggestion has the payload of its other recent, or of its entry on this page. So no
 * `entry_id` appears twice, and each matching entry appears as a recent or as an entry. In
 * SuggestRecents, recents merge in the same way.
 * Bounds. Names of lists and dictionaries, and `entry_id`: 1 to 512 bytes of UTF-8. Text and alias: 1 to
 * 512 bytes. Query: at most 512 bytes. Names, ids, texts and queries must not contain control characters
 * or U+FFFD. Every other character is data, never syntax. Payload: any bytes, at most 1 KiB. Request
 * message: at most 4 MiB in PutEntries and ImportDictionary, 1 MiB in DeleteEntries, 64 KiB in every other
 * call of this server. A longer message ends the call with QUOTA_EXCEEDED.
 * Where dictionaries are. The store keeps the entries, and each server keeps an index of the dictionaries
 * that it was asked for. A server loads a dictionary when the first Suggest, SuggestStream or ListEntries
 * asks for it. These calls wait for the load. Then every answer is exact and complete, on every page. A
 * call waits for at most a minute, and a query of a SuggestStream for at most 5 seconds, but never past
 * the deadline. After this time the call or query ends with DICTIONARY_LOADING, and the load continues.
 * How current answers are. Before each answer the server asks the store for changes, so all servers see
 * a change as soon as the call that made the change has ended. `max_staleness` allows older answers.
 * Every call can also end with STORE_UNAVAILABLE, DRAINING or INTERNAL. A call that writes can also end
 * with STORE_FULL or OUTCOME_UNKNOWN. The comment of each call describes the effect of a retry after
 * OUTCOME_UNKNOWN.
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
   * Suggestions for typed text. A dictionary is a set of entries that all callers share. A list of recents
   * contains the latest choices of one caller. Every server with the same store sees the same dictionaries
   * and lists.
   * Comparison of texts. The server folds queries, texts and aliases, in any script: NFKC, full case
   * folding, then NFKC again. So `straße` finds `STRASSE`, and full-width letters find half-width letters.
   * If the profile of a dictionary drops accents, the server also removes accents and points: the nonspacing
   * and enclosing marks whose Unicode script is Latin, Greek, Cyrillic, Hebrew, Arabic, Syriac or Inherited
   * (no single script). `resume` finds `résumé`, `résumé` finds `resume`, and `עברית` finds `עִבְרִית`. All
   * other marks are parts of letters and stay: vowels of Thai, vowel signs of Devanagari. The voiced sound
   * marks of Japanese, U+3099 and U+309A, stay too, although their script is Inherited.
   * NFKC makes some white space a plain space, for example U+00A0. Other white space is not changed.
   * Hangul is compared by whole syllables, so the query `하` does not find `한국어`.
   * Order of suggestions. First by MatchKind, in the order of its values. An entry appears once, at its
   * best requested kind over its text and its aliases. Within a kind the caller's recents come first, the
   * latest first. Then the order is by weight plus selections, highest first, then by folded text and by
   * `entry_id`, each by code points.
   * Recents among dictionary entries. A recent matches by its own folded text, and appears even if the
   * dictionary has no such entry. A recent and an entry with the same `entry_id` are one suggestion. A
   * recent without an `entry_id` is one suggestion with the latest recent of the same folded text that has
   * an `entry_id`. If there is no such recent, the recent is one suggestion with an entry of the same
   * folded text: the first one, in the order of suggestions, that belongs to no other recent. Such a
   * suggestion shows the latest of its recents, with the kind of that recent's text. If that recent has no
   * payload, the suggestion has the payload of its other recent, or of its entry on this page. So no
   * `entry_id` appears twice, and each matching entry appears as a recent or as an entry. In
   * SuggestRecents, recents merge in the same way.
   * Bounds. Names of lists and dictionaries, and `entry_id`: 1 to 512 bytes of UTF-8. Text and alias: 1 to
   * 512 bytes. Query: at most 512 bytes. Names, ids, texts and queries must not contain control characters
   * or U+FFFD. Every other character is data, never syntax. Payload: any bytes, at most 1 KiB. Request
   * message: at most 4 MiB in PutEntries and ImportDictionary, 1 MiB in DeleteEntries, 64 KiB in every other
   * call of this server. A longer message ends the call with QUOTA_EXCEEDED.
   * Where dictionaries are. The store keeps the entries, and each server keeps an index of the dictionaries
   * that it was asked for. A server loads a dictionary when the first Suggest, SuggestStream or ListEntries
   * asks for it. These calls wait for the load. Then every answer is exact and complete, on every page. A
   * call waits for at most a minute, and a query of a SuggestStream for at most 5 seconds, but never past
   * the deadline. After this time the call or query ends with DICTIONARY_LOADING, and the load continues.
   * How current answers are. Before each answer the server asks the store for changes, so all servers see
   * a change as soon as the call that made the change has ended. `max_staleness` allows older answers.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING or INTERNAL. A call that writes can also end
   * with STORE_FULL or OUTCOME_UNKNOWN. The comment of each call describes the effect of a retry after
   * OUTCOME_UNKNOWN.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Adds a text at the front of a list of recents. A recent that is already in the list moves to the
     * front and takes the values of this call. Two recents are the same if they have the same `entry_id`,
     * or, without any `entry_id`, exactly the same text. Recents above `capacity` are removed, the oldest
     * first. The oldest recents are also removed while the list has more than 512 KiB. A list of 512 KiB
     * holds 1000 recents of 400 bytes, or about 240 recents of the maximum size. The first recent creates
     * the list. A list without a new recent for 90 days (default of the server) is deleted.
     * Idempotent: a retry adds nothing twice. A retry moves the recent in front of recents that were added
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
     * Removes one recent from a list. Idempotent. A missing recent is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void removeRecent(dev.holdfast.v1.RemoveRecentRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RemoveRecentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRemoveRecentMethod(), responseObserver);
    }

    /**
     * <pre>
     * Suggests from one list of recents, without a dictionary. Accents are dropped, and typos are
     * tolerated. Within a kind the latest recent comes first. An empty query lists the latest recents. A
     * list that does not exist has no recents and is not an error. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void suggestRecents(dev.holdfast.v1.SuggestRecentsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestRecentsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSuggestRecentsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a whole list of recents, for example to forget a user. Idempotent. A missing list is an
     * answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    default void deleteRecents(dev.holdfast.v1.DeleteRecentsRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteRecentsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteRecentsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Creates an empty dictionary. Idempotent: a dictionary that exists with the same profile keeps its
     * entries, and the answer is OK.
     * OK means that the dictionary has reached the number of replicas that the store's master requires, so
     * a failover of the store does not undo the creation. If the replicas do not confirm the creation in
     * time, the call ends with OUTCOME_UNKNOWN. Retry until OK.
     * Errors: INVALID_FIELD, DICTIONARY_EXISTS (the dictionary has another profile; a profile never
     * changes), QUOTA_EXCEEDED (the dictionaries of the caller have more entries or bytes than its quota).
     * </pre>
     */
    default void createDictionary(dev.holdfast.v1.CreateDictionaryRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.CreateDictionaryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateDictionaryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Puts entries into a dictionary. An entry with a known `entry_id` replaces the whole old entry, and
     * keeps the selections. If one call has an `entry_id` twice, the last entry counts. The entries can be
     * found when the answer arrives. Open imports keep the entries: see ImportDictionary.
     * Atomic: every query sees all entries of the call, or none of them.
     * Waits while a replica of the store is far behind, for at most 30 seconds. Then the call ends with
     * OVERLOADED. Set a longer deadline.
     * Idempotent: a retry is harmless.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY, QUOTA_EXCEEDED (with these entries, as if all were new, the
     * caller would have more entries or bytes than its quota; no entry was put).
     * </pre>
     */
    default void putEntries(dev.holdfast.v1.PutEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.PutEntriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutEntriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes entries and their selections. Open imports do not restore the entries: see ImportDictionary.
     * Idempotent: a missing entry is not an error. A failed call may have deleted some of its entries:
     * retry the call. The `deleted_count` of the retry does not include those entries.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    default void deleteEntries(dev.holdfast.v1.DeleteEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.DeleteEntriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteEntriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replaces all entries of a dictionary in one step. If the dictionary does not exist, the commit
     * creates it. The stream has one `start`, any number of `batch`, one `commit`, and then the client's
     * half-close. A dictionary can have 4 open imports.
     * The server builds the new generation beside the present one, which stays in use. Only `commit` with
     * the right `entry_count` makes the new generation visible. A stream that ends in any other way
     * (half-close, cancellation, deadline, error, client failure) changes nothing, and the server deletes
     * the data of the stream. Selections stay with their `entry_id`; the selections of entries that the new
     * generation lacks are gone. PutEntries and DeleteEntries during the import take precedence over the
     * batches of the import, also in the new generation.
     * If two imports of a dictionary run at the same time, the first commit succeeds, and the other import
     * ends with IMPORT_CONFLICT. The server reads as fast as the store writes: respect the flow control of
     * the client library. A batch waits while a replica of the store is far behind, as in PutEntries. The
     * commit waits until this server has loaded the new generation, for at most a minute.
     * A retry of the whole stream is harmless, unless another import was committed meanwhile. Then the
     * retry replaces the entries of the other import.
     * After OK this server answers from the new generation. Another server that has the old generation in
     * its memory answers from the old generation until it has loaded the new generation, for at most a
     * minute. Such answers contain the entries that PutEntries and DeleteEntries changed after the commit.
     * OK means that a failover of the store does not undo the commit, as for CreateDictionary. After
     * OUTCOME_UNKNOWN, a failover may bring the old entries back, even if the generation of the dictionary
     * has risen. Retry the whole stream.
     * Errors:
     *   - INVALID_FIELD: also for parts in the wrong order, a stream without `commit`, or a wrong
     *     `entry_count`. The violation names the field, for example `batch.entries[3].text`. Nothing is
     *     changed.
     *   - DICTIONARY_EXISTS: `start` has another profile than the dictionary.
     *   - IMPORT_CONFLICT.
     *   - QUOTA_EXCEEDED: too many open imports on this server or of this dictionary, no `start` for 10
     *     seconds, no message of this import for 2 minutes, or the caller would have more entries or bytes
     *     than its quota.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.holdfast.v1.ImportDictionaryRequest> importDictionary(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ImportDictionaryResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getImportDictionaryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Counts that a user selected an entry. Selections move an entry up among entries of the same kind. A
     * missing entry is an answer, not an error.
     * Not idempotent: each call counts. Do not retry after OUTCOME_UNKNOWN: one missing selection does less
     * harm than a repeated count.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    default void recordSelection(dev.holdfast.v1.RecordSelectionRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.RecordSelectionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRecordSelectionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Suggests entries for a query, and the recents of `recents_list`. An empty query gives the top
     * entries. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`), NO_SUCH_DICTIONARY, DICTIONARY_LOADING,
     * QUOTA_EXCEEDED (the dictionary does not fit into the memory of this server).
     * </pre>
     */
    default void suggest(dev.holdfast.v1.SuggestRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSuggestMethod(), responseObserver);
    }

    /**
     * <pre>
     * Suggests on every keystroke over one stream. A stream costs less than one call per keystroke, and
     * never sends the answer to an older query after the answer to a newer query. Keep a stream open while
     * a user types; an idle stream costs only memory.
     * Queries are answered in order. A newer query supersedes every unanswered older query. So the client
     * can send each keystroke. While the client does not read, the server looks up no query. When the
     * client reads again, the server looks up the newest query. Each query has its own `max_staleness`, as
     * in Suggest.
     * A query waits for at most 5 seconds while the dictionary is loaded. A bad query gets an `error`
     * message, and the stream continues. After the client's half-close, the server still answers the last
     * query, and then the stream ends with OK.
     * Errors of the stream: DRAINING (open another stream, and send the last query again), QUOTA_EXCEEDED
     * (too many streams on this server).
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestStreamRequest> suggestStream(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestStreamResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getSuggestStreamMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists entries between two bounds in pages, in the order of their folded texts. Entries with the same
     * folded text are in the order of their `entry_id`, by code points. A change between two pages is visible
     * if the changed entry comes after all listed entries. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`), NO_SUCH_DICTIONARY, DICTIONARY_LOADING,
     * QUOTA_EXCEEDED (as for Suggest).
     * </pre>
     */
    default void listEntries(dev.holdfast.v1.ListEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListEntriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListEntriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads the size, the profile, the open imports and the load state of a dictionary. Loads nothing. The
     * answer may be out of date on arrival. Changes nothing.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    default void getDictionary(dev.holdfast.v1.GetDictionaryRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.GetDictionaryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetDictionaryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists dictionaries in pages, in the byte order of their names. A dictionary that is created or
     * deleted meanwhile may or may not be listed. A dictionary of an older format is not listed. Loads
     * nothing. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`).
     * </pre>
     */
    default void listDictionaries(dev.holdfast.v1.ListDictionariesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListDictionariesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListDictionariesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a dictionary with all its entries and selections. Open imports end with IMPORT_CONFLICT. The
     * name can be used again immediately, with any profile. Lists of recents stay.
     * Idempotent: a missing dictionary is an answer, not an error. If the dictionary was created again
     * meanwhile, a retry deletes the new dictionary.
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
   * Suggestions for typed text. A dictionary is a set of entries that all callers share. A list of recents
   * contains the latest choices of one caller. Every server with the same store sees the same dictionaries
   * and lists.
   * Comparison of texts. The server folds queries, texts and aliases, in any script: NFKC, full case
   * folding, then NFKC again. So `straße` finds `STRASSE`, and full-width letters find half-width letters.
   * If the profile of a dictionary drops accents, the server also removes accents and points: the nonspacing
   * and enclosing marks whose Unicode script is Latin, Greek, Cyrillic, Hebrew, Arabic, Syriac or Inherited
   * (no single script). `resume` finds `résumé`, `résumé` finds `resume`, and `עברית` finds `עִבְרִית`. All
   * other marks are parts of letters and stay: vowels of Thai, vowel signs of Devanagari. The voiced sound
   * marks of Japanese, U+3099 and U+309A, stay too, although their script is Inherited.
   * NFKC makes some white space a plain space, for example U+00A0. Other white space is not changed.
   * Hangul is compared by whole syllables, so the query `하` does not find `한국어`.
   * Order of suggestions. First by MatchKind, in the order of its values. An entry appears once, at its
   * best requested kind over its text and its aliases. Within a kind the caller's recents come first, the
   * latest first. Then the order is by weight plus selections, highest first, then by folded text and by
   * `entry_id`, each by code points.
   * Recents among dictionary entries. A recent matches by its own folded text, and appears even if the
   * dictionary has no such entry. A recent and an entry with the same `entry_id` are one suggestion. A
   * recent without an `entry_id` is one suggestion with the latest recent of the same folded text that has
   * an `entry_id`. If there is no such recent, the recent is one suggestion with an entry of the same
   * folded text: the first one, in the order of suggestions, that belongs to no other recent. Such a
   * suggestion shows the latest of its recents, with the kind of that recent's text. If that recent has no
   * payload, the suggestion has the payload of its other recent, or of its entry on this page. So no
   * `entry_id` appears twice, and each matching entry appears as a recent or as an entry. In
   * SuggestRecents, recents merge in the same way.
   * Bounds. Names of lists and dictionaries, and `entry_id`: 1 to 512 bytes of UTF-8. Text and alias: 1 to
   * 512 bytes. Query: at most 512 bytes. Names, ids, texts and queries must not contain control characters
   * or U+FFFD. Every other character is data, never syntax. Payload: any bytes, at most 1 KiB. Request
   * message: at most 4 MiB in PutEntries and ImportDictionary, 1 MiB in DeleteEntries, 64 KiB in every other
   * call of this server. A longer message ends the call with QUOTA_EXCEEDED.
   * Where dictionaries are. The store keeps the entries, and each server keeps an index of the dictionaries
   * that it was asked for. A server loads a dictionary when the first Suggest, SuggestStream or ListEntries
   * asks for it. These calls wait for the load. Then every answer is exact and complete, on every page. A
   * call waits for at most a minute, and a query of a SuggestStream for at most 5 seconds, but never past
   * the deadline. After this time the call or query ends with DICTIONARY_LOADING, and the load continues.
   * How current answers are. Before each answer the server asks the store for changes, so all servers see
   * a change as soon as the call that made the change has ended. `max_staleness` allows older answers.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING or INTERNAL. A call that writes can also end
   * with STORE_FULL or OUTCOME_UNKNOWN. The comment of each call describes the effect of a retry after
   * OUTCOME_UNKNOWN.
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
   * Suggestions for typed text. A dictionary is a set of entries that all callers share. A list of recents
   * contains the latest choices of one caller. Every server with the same store sees the same dictionaries
   * and lists.
   * Comparison of texts. The server folds queries, texts and aliases, in any script: NFKC, full case
   * folding, then NFKC again. So `straße` finds `STRASSE`, and full-width letters find half-width letters.
   * If the profile of a dictionary drops accents, the server also removes accents and points: the nonspacing
   * and enclosing marks whose Unicode script is Latin, Greek, Cyrillic, Hebrew, Arabic, Syriac or Inherited
   * (no single script). `resume` finds `résumé`, `résumé` finds `resume`, and `עברית` finds `עִבְרִית`. All
   * other marks are parts of letters and stay: vowels of Thai, vowel signs of Devanagari. The voiced sound
   * marks of Japanese, U+3099 and U+309A, stay too, although their script is Inherited.
   * NFKC makes some white space a plain space, for example U+00A0. Other white space is not changed.
   * Hangul is compared by whole syllables, so the query `하` does not find `한국어`.
   * Order of suggestions. First by MatchKind, in the order of its values. An entry appears once, at its
   * best requested kind over its text and its aliases. Within a kind the caller's recents come first, the
   * latest first. Then the order is by weight plus selections, highest first, then by folded text and by
   * `entry_id`, each by code points.
   * Recents among dictionary entries. A recent matches by its own folded text, and appears even if the
   * dictionary has no such entry. A recent and an entry with the same `entry_id` are one suggestion. A
   * recent without an `entry_id` is one suggestion with the latest recent of the same folded text that has
   * an `entry_id`. If there is no such recent, the recent is one suggestion with an entry of the same
   * folded text: the first one, in the order of suggestions, that belongs to no other recent. Such a
   * suggestion shows the latest of its recents, with the kind of that recent's text. If that recent has no
   * payload, the suggestion has the payload of its other recent, or of its entry on this page. So no
   * `entry_id` appears twice, and each matching entry appears as a recent or as an entry. In
   * SuggestRecents, recents merge in the same way.
   * Bounds. Names of lists and dictionaries, and `entry_id`: 1 to 512 bytes of UTF-8. Text and alias: 1 to
   * 512 bytes. Query: at most 512 bytes. Names, ids, texts and queries must not contain control characters
   * or U+FFFD. Every other character is data, never syntax. Payload: any bytes, at most 1 KiB. Request
   * message: at most 4 MiB in PutEntries and ImportDictionary, 1 MiB in DeleteEntries, 64 KiB in every other
   * call of this server. A longer message ends the call with QUOTA_EXCEEDED.
   * Where dictionaries are. The store keeps the entries, and each server keeps an index of the dictionaries
   * that it was asked for. A server loads a dictionary when the first Suggest, SuggestStream or ListEntries
   * asks for it. These calls wait for the load. Then every answer is exact and complete, on every page. A
   * call waits for at most a minute, and a query of a SuggestStream for at most 5 seconds, but never past
   * the deadline. After this time the call or query ends with DICTIONARY_LOADING, and the load continues.
   * How current answers are. Before each answer the server asks the store for changes, so all servers see
   * a change as soon as the call that made the change has ended. `max_staleness` allows older answers.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING or INTERNAL. A call that writes can also end
   * with STORE_FULL or OUTCOME_UNKNOWN. The comment of each call describes the effect of a retry after
   * OUTCOME_UNKNOWN.
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
     * Adds a text at the front of a list of recents. A recent that is already in the list moves to the
     * front and takes the values of this call. Two recents are the same if they have the same `entry_id`,
     * or, without any `entry_id`, exactly the same text. Recents above `capacity` are removed, the oldest
     * first. The oldest recents are also removed while the list has more than 512 KiB. A list of 512 KiB
     * holds 1000 recents of 400 bytes, or about 240 recents of the maximum size. The first recent creates
     * the list. A list without a new recent for 90 days (default of the server) is deleted.
     * Idempotent: a retry adds nothing twice. A retry moves the recent in front of recents that were added
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
     * Removes one recent from a list. Idempotent. A missing recent is an answer, not an error.
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
     * Suggests from one list of recents, without a dictionary. Accents are dropped, and typos are
     * tolerated. Within a kind the latest recent comes first. An empty query lists the latest recents. A
     * list that does not exist has no recents and is not an error. Changes nothing.
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
     * Deletes a whole list of recents, for example to forget a user. Idempotent. A missing list is an
     * answer, not an error.
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
     * Creates an empty dictionary. Idempotent: a dictionary that exists with the same profile keeps its
     * entries, and the answer is OK.
     * OK means that the dictionary has reached the number of replicas that the store's master requires, so
     * a failover of the store does not undo the creation. If the replicas do not confirm the creation in
     * time, the call ends with OUTCOME_UNKNOWN. Retry until OK.
     * Errors: INVALID_FIELD, DICTIONARY_EXISTS (the dictionary has another profile; a profile never
     * changes), QUOTA_EXCEEDED (the dictionaries of the caller have more entries or bytes than its quota).
     * </pre>
     */
    public void createDictionary(dev.holdfast.v1.CreateDictionaryRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.CreateDictionaryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateDictionaryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Puts entries into a dictionary. An entry with a known `entry_id` replaces the whole old entry, and
     * keeps the selections. If one call has an `entry_id` twice, the last entry counts. The entries can be
     * found when the answer arrives. Open imports keep the entries: see ImportDictionary.
     * Atomic: every query sees all entries of the call, or none of them.
     * Waits while a replica of the store is far behind, for at most 30 seconds. Then the call ends with
     * OVERLOADED. Set a longer deadline.
     * Idempotent: a retry is harmless.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY, QUOTA_EXCEEDED (with these entries, as if all were new, the
     * caller would have more entries or bytes than its quota; no entry was put).
     * </pre>
     */
    public void putEntries(dev.holdfast.v1.PutEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.PutEntriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutEntriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes entries and their selections. Open imports do not restore the entries: see ImportDictionary.
     * Idempotent: a missing entry is not an error. A failed call may have deleted some of its entries:
     * retry the call. The `deleted_count` of the retry does not include those entries.
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
     * Replaces all entries of a dictionary in one step. If the dictionary does not exist, the commit
     * creates it. The stream has one `start`, any number of `batch`, one `commit`, and then the client's
     * half-close. A dictionary can have 4 open imports.
     * The server builds the new generation beside the present one, which stays in use. Only `commit` with
     * the right `entry_count` makes the new generation visible. A stream that ends in any other way
     * (half-close, cancellation, deadline, error, client failure) changes nothing, and the server deletes
     * the data of the stream. Selections stay with their `entry_id`; the selections of entries that the new
     * generation lacks are gone. PutEntries and DeleteEntries during the import take precedence over the
     * batches of the import, also in the new generation.
     * If two imports of a dictionary run at the same time, the first commit succeeds, and the other import
     * ends with IMPORT_CONFLICT. The server reads as fast as the store writes: respect the flow control of
     * the client library. A batch waits while a replica of the store is far behind, as in PutEntries. The
     * commit waits until this server has loaded the new generation, for at most a minute.
     * A retry of the whole stream is harmless, unless another import was committed meanwhile. Then the
     * retry replaces the entries of the other import.
     * After OK this server answers from the new generation. Another server that has the old generation in
     * its memory answers from the old generation until it has loaded the new generation, for at most a
     * minute. Such answers contain the entries that PutEntries and DeleteEntries changed after the commit.
     * OK means that a failover of the store does not undo the commit, as for CreateDictionary. After
     * OUTCOME_UNKNOWN, a failover may bring the old entries back, even if the generation of the dictionary
     * has risen. Retry the whole stream.
     * Errors:
     *   - INVALID_FIELD: also for parts in the wrong order, a stream without `commit`, or a wrong
     *     `entry_count`. The violation names the field, for example `batch.entries[3].text`. Nothing is
     *     changed.
     *   - DICTIONARY_EXISTS: `start` has another profile than the dictionary.
     *   - IMPORT_CONFLICT.
     *   - QUOTA_EXCEEDED: too many open imports on this server or of this dictionary, no `start` for 10
     *     seconds, no message of this import for 2 minutes, or the caller would have more entries or bytes
     *     than its quota.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.holdfast.v1.ImportDictionaryRequest> importDictionary(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ImportDictionaryResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncClientStreamingCall(
          getChannel().newCall(getImportDictionaryMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Counts that a user selected an entry. Selections move an entry up among entries of the same kind. A
     * missing entry is an answer, not an error.
     * Not idempotent: each call counts. Do not retry after OUTCOME_UNKNOWN: one missing selection does less
     * harm than a repeated count.
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
     * Suggests entries for a query, and the recents of `recents_list`. An empty query gives the top
     * entries. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`), NO_SUCH_DICTIONARY, DICTIONARY_LOADING,
     * QUOTA_EXCEEDED (the dictionary does not fit into the memory of this server).
     * </pre>
     */
    public void suggest(dev.holdfast.v1.SuggestRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSuggestMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Suggests on every keystroke over one stream. A stream costs less than one call per keystroke, and
     * never sends the answer to an older query after the answer to a newer query. Keep a stream open while
     * a user types; an idle stream costs only memory.
     * Queries are answered in order. A newer query supersedes every unanswered older query. So the client
     * can send each keystroke. While the client does not read, the server looks up no query. When the
     * client reads again, the server looks up the newest query. Each query has its own `max_staleness`, as
     * in Suggest.
     * A query waits for at most 5 seconds while the dictionary is loaded. A bad query gets an `error`
     * message, and the stream continues. After the client's half-close, the server still answers the last
     * query, and then the stream ends with OK.
     * Errors of the stream: DRAINING (open another stream, and send the last query again), QUOTA_EXCEEDED
     * (too many streams on this server).
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestStreamRequest> suggestStream(
        io.grpc.stub.StreamObserver<dev.holdfast.v1.SuggestStreamResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getSuggestStreamMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Lists entries between two bounds in pages, in the order of their folded texts. Entries with the same
     * folded text are in the order of their `entry_id`, by code points. A change between two pages is visible
     * if the changed entry comes after all listed entries. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`), NO_SUCH_DICTIONARY, DICTIONARY_LOADING,
     * QUOTA_EXCEEDED (as for Suggest).
     * </pre>
     */
    public void listEntries(dev.holdfast.v1.ListEntriesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListEntriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListEntriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads the size, the profile, the open imports and the load state of a dictionary. Loads nothing. The
     * answer may be out of date on arrival. Changes nothing.
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
     * Lists dictionaries in pages, in the byte order of their names. A dictionary that is created or
     * deleted meanwhile may or may not be listed. A dictionary of an older format is not listed. Loads
     * nothing. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`).
     * </pre>
     */
    public void listDictionaries(dev.holdfast.v1.ListDictionariesRequest request,
        io.grpc.stub.StreamObserver<dev.holdfast.v1.ListDictionariesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListDictionariesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a dictionary with all its entries and selections. Open imports end with IMPORT_CONFLICT. The
     * name can be used again immediately, with any profile. Lists of recents stay.
     * Idempotent: a missing dictionary is an answer, not an error. If the dictionary was created again
     * meanwhile, a retry deletes the new dictionary.
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
   * Suggestions for typed text. A dictionary is a set of entries that all callers share. A list of recents
   * contains the latest choices of one caller. Every server with the same store sees the same dictionaries
   * and lists.
   * Comparison of texts. The server folds queries, texts and aliases, in any script: NFKC, full case
   * folding, then NFKC again. So `straße` finds `STRASSE`, and full-width letters find half-width letters.
   * If the profile of a dictionary drops accents, the server also removes accents and points: the nonspacing
   * and enclosing marks whose Unicode script is Latin, Greek, Cyrillic, Hebrew, Arabic, Syriac or Inherited
   * (no single script). `resume` finds `résumé`, `résumé` finds `resume`, and `עברית` finds `עִבְרִית`. All
   * other marks are parts of letters and stay: vowels of Thai, vowel signs of Devanagari. The voiced sound
   * marks of Japanese, U+3099 and U+309A, stay too, although their script is Inherited.
   * NFKC makes some white space a plain space, for example U+00A0. Other white space is not changed.
   * Hangul is compared by whole syllables, so the query `하` does not find `한국어`.
   * Order of suggestions. First by MatchKind, in the order of its values. An entry appears once, at its
   * best requested kind over its text and its aliases. Within a kind the caller's recents come first, the
   * latest first. Then the order is by weight plus selections, highest first, then by folded text and by
   * `entry_id`, each by code points.
   * Recents among dictionary entries. A recent matches by its own folded text, and appears even if the
   * dictionary has no such entry. A recent and an entry with the same `entry_id` are one suggestion. A
   * recent without an `entry_id` is one suggestion with the latest recent of the same folded text that has
   * an `entry_id`. If there is no such recent, the recent is one suggestion with an entry of the same
   * folded text: the first one, in the order of suggestions, that belongs to no other recent. Such a
   * suggestion shows the latest of its recents, with the kind of that recent's text. If that recent has no
   * payload, the suggestion has the payload of its other recent, or of its entry on this page. So no
   * `entry_id` appears twice, and each matching entry appears as a recent or as an entry. In
   * SuggestRecents, recents merge in the same way.
   * Bounds. Names of lists and dictionaries, and `entry_id`: 1 to 512 bytes of UTF-8. Text and alias: 1 to
   * 512 bytes. Query: at most 512 bytes. Names, ids, texts and queries must not contain control characters
   * or U+FFFD. Every other character is data, never syntax. Payload: any bytes, at most 1 KiB. Request
   * message: at most 4 MiB in PutEntries and ImportDictionary, 1 MiB in DeleteEntries, 64 KiB in every other
   * call of this server. A longer message ends the call with QUOTA_EXCEEDED.
   * Where dictionaries are. The store keeps the entries, and each server keeps an index of the dictionaries
   * that it was asked for. A server loads a dictionary when the first Suggest, SuggestStream or ListEntries
   * asks for it. These calls wait for the load. Then every answer is exact and complete, on every page. A
   * call waits for at most a minute, and a query of a SuggestStream for at most 5 seconds, but never past
   * the deadline. After this time the call or query ends with DICTIONARY_LOADING, and the load continues.
   * How current answers are. Before each answer the server asks the store for changes, so all servers see
   * a change as soon as the call that made the change has ended. `max_staleness` allows older answers.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING or INTERNAL. A call that writes can also end
   * with STORE_FULL or OUTCOME_UNKNOWN. The comment of each call describes the effect of a retry after
   * OUTCOME_UNKNOWN.
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
     * Adds a text at the front of a list of recents. A recent that is already in the list moves to the
     * front and takes the values of this call. Two recents are the same if they have the same `entry_id`,
     * or, without any `entry_id`, exactly the same text. Recents above `capacity` are removed, the oldest
     * first. The oldest recents are also removed while the list has more than 512 KiB. A list of 512 KiB
     * holds 1000 recents of 400 bytes, or about 240 recents of the maximum size. The first recent creates
     * the list. A list without a new recent for 90 days (default of the server) is deleted.
     * Idempotent: a retry adds nothing twice. A retry moves the recent in front of recents that were added
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
     * Removes one recent from a list. Idempotent. A missing recent is an answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.RemoveRecentResponse removeRecent(dev.holdfast.v1.RemoveRecentRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRemoveRecentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Suggests from one list of recents, without a dictionary. Accents are dropped, and typos are
     * tolerated. Within a kind the latest recent comes first. An empty query lists the latest recents. A
     * list that does not exist has no recents and is not an error. Changes nothing.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.SuggestRecentsResponse suggestRecents(dev.holdfast.v1.SuggestRecentsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSuggestRecentsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a whole list of recents, for example to forget a user. Idempotent. A missing list is an
     * answer, not an error.
     * Errors: INVALID_FIELD.
     * </pre>
     */
    public dev.holdfast.v1.DeleteRecentsResponse deleteRecents(dev.holdfast.v1.DeleteRecentsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteRecentsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates an empty dictionary. Idempotent: a dictionary that exists with the same profile keeps its
     * entries, and the answer is OK.
     * OK means that the dictionary has reached the number of replicas that the store's master requires, so
     * a failover of the store does not undo the creation. If the replicas do not confirm the creation in
     * time, the call ends with OUTCOME_UNKNOWN. Retry until OK.
     * Errors: INVALID_FIELD, DICTIONARY_EXISTS (the dictionary has another profile; a profile never
     * changes), QUOTA_EXCEEDED (the dictionaries of the caller have more entries or bytes than its quota).
     * </pre>
     */
    public dev.holdfast.v1.CreateDictionaryResponse createDictionary(dev.holdfast.v1.CreateDictionaryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateDictionaryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Puts entries into a dictionary. An entry with a known `entry_id` replaces the whole old entry, and
     * keeps the selections. If one call has an `entry_id` twice, the last entry counts. The entries can be
     * found when the answer arrives. Open imports keep the entries: see ImportDictionary.
     * Atomic: every query sees all entries of the call, or none of them.
     * Waits while a replica of the store is far behind, for at most 30 seconds. Then the call ends with
     * OVERLOADED. Set a longer deadline.
     * Idempotent: a retry is harmless.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY, QUOTA_EXCEEDED (with these entries, as if all were new, the
     * caller would have more entries or bytes than its quota; no entry was put).
     * </pre>
     */
    public dev.holdfast.v1.PutEntriesResponse putEntries(dev.holdfast.v1.PutEntriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutEntriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes entries and their selections. Open imports do not restore the entries: see ImportDictionary.
     * Idempotent: a missing entry is not an error. A failed call may have deleted some of its entries:
     * retry the call. The `deleted_count` of the retry does not include those entries.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public dev.holdfast.v1.DeleteEntriesResponse deleteEntries(dev.holdfast.v1.DeleteEntriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteEntriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Counts that a user selected an entry. Selections move an entry up among entries of the same kind. A
     * missing entry is an answer, not an error.
     * Not idempotent: each call counts. Do not retry after OUTCOME_UNKNOWN: one missing selection does less
     * harm than a repeated count.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public dev.holdfast.v1.RecordSelectionResponse recordSelection(dev.holdfast.v1.RecordSelectionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRecordSelectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Suggests entries for a query, and the recents of `recents_list`. An empty query gives the top
     * entries. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`), NO_SUCH_DICTIONARY, DICTIONARY_LOADING,
     * QUOTA_EXCEEDED (the dictionary does not fit into the memory of this server).
     * </pre>
     */
    public dev.holdfast.v1.SuggestResponse suggest(dev.holdfast.v1.SuggestRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSuggestMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists entries between two bounds in pages, in the order of their folded texts. Entries with the same
     * folded text are in the order of their `entry_id`, by code points. A change between two pages is visible
     * if the changed entry comes after all listed entries. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`), NO_SUCH_DICTIONARY, DICTIONARY_LOADING,
     * QUOTA_EXCEEDED (as for Suggest).
     * </pre>
     */
    public dev.holdfast.v1.ListEntriesResponse listEntries(dev.holdfast.v1.ListEntriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListEntriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the size, the profile, the open imports and the load state of a dictionary. Loads nothing. The
     * answer may be out of date on arrival. Changes nothing.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY.
     * </pre>
     */
    public dev.holdfast.v1.GetDictionaryResponse getDictionary(dev.holdfast.v1.GetDictionaryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetDictionaryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists dictionaries in pages, in the byte order of their names. A dictionary that is created or
     * deleted meanwhile may or may not be listed. A dictionary of an older format is not listed. Loads
     * nothing. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`).
     * </pre>
     */
    public dev.holdfast.v1.ListDictionariesResponse listDictionaries(dev.holdfast.v1.ListDictionariesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListDictionariesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a dictionary with all its entries and selections. Open imports end with IMPORT_CONFLICT. The
     * name can be used again immediately, with any profile. Lists of recents stay.
     * Idempotent: a missing dictionary is an answer, not an error. If the dictionary was created again
     * meanwhile, a retry deletes the new dictionary.
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
   * Suggestions for typed text. A dictionary is a set of entries that all callers share. A list of recents
   * contains the latest choices of one caller. Every server with the same store sees the same dictionaries
   * and lists.
   * Comparison of texts. The server folds queries, texts and aliases, in any script: NFKC, full case
   * folding, then NFKC again. So `straße` finds `STRASSE`, and full-width letters find half-width letters.
   * If the profile of a dictionary drops accents, the server also removes accents and points: the nonspacing
   * and enclosing marks whose Unicode script is Latin, Greek, Cyrillic, Hebrew, Arabic, Syriac or Inherited
   * (no single script). `resume` finds `résumé`, `résumé` finds `resume`, and `עברית` finds `עִבְרִית`. All
   * other marks are parts of letters and stay: vowels of Thai, vowel signs of Devanagari. The voiced sound
   * marks of Japanese, U+3099 and U+309A, stay too, although their script is Inherited.
   * NFKC makes some white space a plain space, for example U+00A0. Other white space is not changed.
   * Hangul is compared by whole syllables, so the query `하` does not find `한국어`.
   * Order of suggestions. First by MatchKind, in the order of its values. An entry appears once, at its
   * best requested kind over its text and its aliases. Within a kind the caller's recents come first, the
   * latest first. Then the order is by weight plus selections, highest first, then by folded text and by
   * `entry_id`, each by code points.
   * Recents among dictionary entries. A recent matches by its own folded text, and appears even if the
   * dictionary has no such entry. A recent and an entry with the same `entry_id` are one suggestion. A
   * recent without an `entry_id` is one suggestion with the latest recent of the same folded text that has
   * an `entry_id`. If there is no such recent, the recent is one suggestion with an entry of the same
   * folded text: the first one, in the order of suggestions, that belongs to no other recent. Such a
   * suggestion shows the latest of its recents, with the kind of that recent's text. If that recent has no
   * payload, the suggestion has the payload of its other recent, or of its entry on this page. So no
   * `entry_id` appears twice, and each matching entry appears as a recent or as an entry. In
   * SuggestRecents, recents merge in the same way.
   * Bounds. Names of lists and dictionaries, and `entry_id`: 1 to 512 bytes of UTF-8. Text and alias: 1 to
   * 512 bytes. Query: at most 512 bytes. Names, ids, texts and queries must not contain control characters
   * or U+FFFD. Every other character is data, never syntax. Payload: any bytes, at most 1 KiB. Request
   * message: at most 4 MiB in PutEntries and ImportDictionary, 1 MiB in DeleteEntries, 64 KiB in every other
   * call of this server. A longer message ends the call with QUOTA_EXCEEDED.
   * Where dictionaries are. The store keeps the entries, and each server keeps an index of the dictionaries
   * that it was asked for. A server loads a dictionary when the first Suggest, SuggestStream or ListEntries
   * asks for it. These calls wait for the load. Then every answer is exact and complete, on every page. A
   * call waits for at most a minute, and a query of a SuggestStream for at most 5 seconds, but never past
   * the deadline. After this time the call or query ends with DICTIONARY_LOADING, and the load continues.
   * How current answers are. Before each answer the server asks the store for changes, so all servers see
   * a change as soon as the call that made the change has ended. `max_staleness` allows older answers.
   * Every call can also end with STORE_UNAVAILABLE, DRAINING or INTERNAL. A call that writes can also end
   * with STORE_FULL or OUTCOME_UNKNOWN. The comment of each call describes the effect of a retry after
   * OUTCOME_UNKNOWN.
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
     * Adds a text at the front of a list of recents. A recent that is already in the list moves to the
     * front and takes the values of this call. Two recents are the same if they have the same `entry_id`,
     * or, without any `entry_id`, exactly the same text. Recents above `capacity` are removed, the oldest
     * first. The oldest recents are also removed while the list has more than 512 KiB. A list of 512 KiB
     * holds 1000 recents of 400 bytes, or about 240 recents of the maximum size. The first recent creates
     * the list. A list without a new recent for 90 days (default of the server) is deleted.
     * Idempotent: a retry adds nothing twice. A retry moves the recent in front of recents that were added
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
     * Removes one recent from a list. Idempotent. A missing recent is an answer, not an error.
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
     * Suggests from one list of recents, without a dictionary. Accents are dropped, and typos are
     * tolerated. Within a kind the latest recent comes first. An empty query lists the latest recents. A
     * list that does not exist has no recents and is not an error. Changes nothing.
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
     * Deletes a whole list of recents, for example to forget a user. Idempotent. A missing list is an
     * answer, not an error.
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
     * Creates an empty dictionary. Idempotent: a dictionary that exists with the same profile keeps its
     * entries, and the answer is OK.
     * OK means that the dictionary has reached the number of replicas that the store's master requires, so
     * a failover of the store does not undo the creation. If the replicas do not confirm the creation in
     * time, the call ends with OUTCOME_UNKNOWN. Retry until OK.
     * Errors: INVALID_FIELD, DICTIONARY_EXISTS (the dictionary has another profile; a profile never
     * changes), QUOTA_EXCEEDED (the dictionaries of the caller have more entries or bytes than its quota).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.CreateDictionaryResponse> createDictionary(
        dev.holdfast.v1.CreateDictionaryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateDictionaryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Puts entries into a dictionary. An entry with a known `entry_id` replaces the whole old entry, and
     * keeps the selections. If one call has an `entry_id` twice, the last entry counts. The entries can be
     * found when the answer arrives. Open imports keep the entries: see ImportDictionary.
     * Atomic: every query sees all entries of the call, or none of them.
     * Waits while a replica of the store is far behind, for at most 30 seconds. Then the call ends with
     * OVERLOADED. Set a longer deadline.
     * Idempotent: a retry is harmless.
     * Errors: INVALID_FIELD, NO_SUCH_DICTIONARY, QUOTA_EXCEEDED (with these entries, as if all were new, the
     * caller would have more entries or bytes than its quota; no entry was put).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.PutEntriesResponse> putEntries(
        dev.holdfast.v1.PutEntriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutEntriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes entries and their selections. Open imports do not restore the entries: see ImportDictionary.
     * Idempotent: a missing entry is not an error. A failed call may have deleted some of its entries:
     * retry the call. The `deleted_count` of the retry does not include those entries.
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
     * Counts that a user selected an entry. Selections move an entry up among entries of the same kind. A
     * missing entry is an answer, not an error.
     * Not idempotent: each call counts. Do not retry after OUTCOME_UNKNOWN: one missing selection does less
     * harm than a repeated count.
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
     * Suggests entries for a query, and the recents of `recents_list`. An empty query gives the top
     * entries. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`), NO_SUCH_DICTIONARY, DICTIONARY_LOADING,
     * QUOTA_EXCEEDED (the dictionary does not fit into the memory of this server).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.SuggestResponse> suggest(
        dev.holdfast.v1.SuggestRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSuggestMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists entries between two bounds in pages, in the order of their folded texts. Entries with the same
     * folded text are in the order of their `entry_id`, by code points. A change between two pages is visible
     * if the changed entry comes after all listed entries. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`), NO_SUCH_DICTIONARY, DICTIONARY_LOADING,
     * QUOTA_EXCEEDED (as for Suggest).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.ListEntriesResponse> listEntries(
        dev.holdfast.v1.ListEntriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListEntriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads the size, the profile, the open imports and the load state of a dictionary. Loads nothing. The
     * answer may be out of date on arrival. Changes nothing.
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
     * Lists dictionaries in pages, in the byte order of their names. A dictionary that is created or
     * deleted meanwhile may or may not be listed. A dictionary of an older format is not listed. Loads
     * nothing. Changes nothing.
     * Errors: INVALID_FIELD (also for a malformed `page_token`).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.holdfast.v1.ListDictionariesResponse> listDictionaries(
        dev.holdfast.v1.ListDictionariesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListDictionariesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a dictionary with all its entries and selections. Open imports end with IMPORT_CONFLICT. The
     * name can be used again immediately, with any profile. Lists of recents stay.
     * Idempotent: a missing dictionary is an answer, not an error. If the dictionary was created again
     * meanwhile, a retry deletes the new dictionary.
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
