package dev.holdfast.client;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.holdfast.v1.CommandFailed;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Makes the exceptions of this package from the errors of commands and calls. */
final class Errors {
  private static final String DOMAIN = "holdfast";
  private static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);
  private static final Metadata.Key<String> REASON =
      Metadata.Key.of("holdfast-reason", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> PUSHBACK =
      Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

  private interface Maker {
    HoldfastException make(String message, ErrorFacts facts, @Nullable Throwable cause);
  }

  private static final Map<String, Maker> BY_REASON =
      Map.ofEntries(
          Map.entry("CONTENDED", ContendedException::new),
          Map.entry("INVALID_FIELD", InvalidRequestException::new),
          Map.entry("REQUEST_MISMATCH", InvalidRequestException::new),
          Map.entry("NO_CREDENTIAL", CredentialException::new),
          Map.entry("BAD_CREDENTIAL", CredentialException::new),
          Map.entry("NOT_ALLOWED", NotAllowedException::new),
          Map.entry("QUOTA_EXCEEDED", LimitReachedException::new),
          Map.entry("QUEUE_FULL", LimitReachedException::new),
          Map.entry("STORE_FULL", LimitReachedException::new),
          Map.entry("NO_SUCH_SEMAPHORE", NoSuchSemaphoreException::new),
          Map.entry("LIMIT_MISMATCH", LimitMismatchException::new),
          Map.entry("NEVER_FITS", NeverFitsException::new),
          Map.entry("NO_SUCH_DICTIONARY", NoSuchDictionaryException::new),
          Map.entry("DICTIONARY_EXISTS", DictionaryExistsException::new),
          Map.entry("IMPORT_CONFLICT", ImportConflictException::new));

  private Errors() {}

  /** An error without a class for its reason has the class of its code. */
  static HoldfastException of(String message, ErrorFacts facts, @Nullable Throwable cause) {
    Maker known = BY_REASON.get(facts.reason);
    return (known == null ? makerOf(Status.fromCodeValue(facts.code).getCode()) : known)
        .make(message, facts, cause);
  }

  private static Maker makerOf(Status.Code code) {
    switch (code) {
      case UNAVAILABLE:
      case DEADLINE_EXCEEDED:
        return UnavailableException::new;
      case UNAUTHENTICATED:
        return CredentialException::new;
      case PERMISSION_DENIED:
        return NotAllowedException::new;
      case RESOURCE_EXHAUSTED:
        return LimitReachedException::new;
      case INVALID_ARGUMENT:
        return InvalidRequestException::new;
      default:
        return HoldfastException::new;
    }
  }

  /** The error of one command of a session. */
  static HoldfastException ofCommand(CommandFailed failed) {
    List<FieldViolation> violations = new ArrayList<>();
    failed
        .getViolationsList()
        .forEach(v -> violations.add(new FieldViolation(v.getField(), OptionNames.in(v.getDescription()))));
    Duration retryAfter =
        failed.hasRetryDelay() ? Durations.javaDuration(failed.getRetryDelay()) : null;
    ErrorFacts facts =
        new ErrorFacts(
            failed.getReasonText(),
            failed.getCode(),
            failed.getMetadataMap(),
            retryAfter,
            violations);
    return of(OptionNames.in(failed.getMessage()), facts, null);
  }

  /**
   * The error of a call or a stream. A stream that ends with OK, although nobody ended it, is a
   * break.
   */
  static HoldfastException ofCall(Status status, @Nullable Metadata trailers) {
    if (status.isOk()) {
      ErrorFacts facts = new ErrorFacts("", Status.Code.UNAVAILABLE.value());
      return of("the stream ended without a reason", facts, null);
    }
    String description = status.getDescription();
    // gRPC adds the parts of the connection in a second line.
    String text =
        description == null
            ? status.getCode().name()
            : description.replaceFirst("\nChannel Pipeline: .*", "");
    ErrorFacts facts = factsOf(status.getCode().value(), trailers);
    return of(OptionNames.in(text) + reasonOf(status.getCause()), facts, status.getCause());
  }

  /** Why a connection has failed, for example an expired certificate: the innermost cause. */
  private static String reasonOf(@Nullable Throwable cause) {
    Throwable inner = cause;
    for (int depth = 0; depth < 10 && inner != null && inner.getCause() != null; depth++) {
      inner = inner.getCause();
    }
    return inner == null ? "" : ": " + inner;
  }

  /**
   * No answer came in time. If the servers refuse the client, the exception has the class of the
   * refusal.
   */
  static HoldfastException noAnswer(String what, @Nullable HoldfastException last) {
    if (last == null) {
      return of(what, new ErrorFacts("NO_ANSWER", Status.Code.UNAVAILABLE.value()), null);
    }
    String reason = last.reason().isEmpty() ? "NO_ANSWER" : last.reason();
    int code = isRefusal(last.code()) ? last.code() : Status.Code.UNAVAILABLE.value();
    return of(what + ": " + last.getMessage(), new ErrorFacts(reason, code), last);
  }

  private static boolean isRefusal(int code) {
    return code == Status.Code.UNAUTHENTICATED.value()
        || code == Status.Code.PERMISSION_DENIED.value();
  }

  /** The same error with the stack of the caller, because another thread has made it. */
  static HoldfastException withOwnStack(HoldfastException error) {
    if (error instanceof LeaseLostException) {
      LeaseLostException lost = (LeaseLostException) error;
      return new LeaseLostException(lost.name(), lost.lossCause(), lost.getCause());
    }
    if (error instanceof ClosedException) {
      return new ClosedException(error);
    }
    return of(error.getMessage(), error.facts(), error);
  }

  /** The calling thread was interrupted in a call. Its interrupt flag stays set. */
  static HoldfastException interrupted(InterruptedException cause) {
    ErrorFacts facts = new ErrorFacts("INTERRUPTED", Status.Code.CANCELLED.value());
    return new HoldfastException("the calling thread was interrupted", facts, cause);
  }

  private static ErrorFacts factsOf(int code, @Nullable Metadata trailers) {
    ErrorFacts details = trailers == null ? null : detailsIn(trailers, code);
    if (details != null) {
      return details;
    }
    String reason = trailers == null ? null : trailers.get(REASON);
    // Only a Holdfast server has a reason. A pushback of a proxy counts for the same errors.
    Duration pushback = trailers == null ? null : pushbackIn(trailers);
    return new ErrorFacts(reason == null ? "" : reason, code, Map.of(), pushback, List.of());
  }

  private static @Nullable ErrorFacts detailsIn(Metadata trailers, int code) {
    byte[] bytes = trailers.get(DETAILS);
    if (bytes == null) {
      return null;
    }
    try {
      ErrorInfo info = ErrorInfo.getDefaultInstance();
      Duration retryAfter = pushbackIn(trailers);
      List<FieldViolation> violations = new ArrayList<>();
      for (com.google.protobuf.Any detail :
          com.google.rpc.Status.parseFrom(bytes).getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          info = detail.unpack(ErrorInfo.class);
        } else if (detail.is(RetryInfo.class)) {
          retryAfter = Durations.javaDuration(detail.unpack(RetryInfo.class).getRetryDelay());
        } else if (detail.is(BadRequest.class)) {
          for (BadRequest.FieldViolation one :
              detail.unpack(BadRequest.class).getFieldViolationsList()) {
            violations.add(new FieldViolation(one.getField(), OptionNames.in(one.getDescription())));
          }
        }
      }
      if (!info.getDomain().equals(DOMAIN)) {
        return null;
      }
      return new ErrorFacts(info.getReason(), code, info.getMetadataMap(), retryAfter, violations);
    } catch (InvalidProtocolBufferException e) {
      return null;
    }
  }

  private static @Nullable Duration pushbackIn(Metadata trailers) {
    String text = trailers.get(PUSHBACK);
    return text != null && text.matches("\\d{1,9}")
        ? Duration.ofMillis(Long.parseLong(text))
        : null;
  }
}
