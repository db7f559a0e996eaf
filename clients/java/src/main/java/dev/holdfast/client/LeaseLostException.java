package dev.holdfast.client;

import io.grpc.Status;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The lease is over: stop the work that it protects. If the work itself failed, its exception is
 * the cause of this exception.
 */
public final class LeaseLostException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  private final String name;
  private final LossCause lossCause;

  LeaseLostException(String name, LossCause lossCause, @Nullable Throwable cause) {
    super(
        "the lease of " + Texts.quoted(name) + " is over: " + lossCause.text,
        factsOf(lossCause),
        cause);
    this.name = name;
    this.lossCause = lossCause;
  }

  private static ErrorFacts factsOf(LossCause cause) {
    Map<String, String> metadata = Map.of("cause", cause.name());
    return new ErrorFacts("LEASE_LOST", Status.Code.ABORTED.value(), metadata, null, List.of());
  }

  /** The name of the lock or the semaphore. */
  public String name() {
    return name;
  }

  public LossCause lossCause() {
    return lossCause;
  }

  public NoticedBy noticedBy() {
    return lossCause.noticedBy();
  }
}
