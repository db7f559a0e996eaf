package dev.holdfast.client;

import io.grpc.Status;
import org.jspecify.annotations.Nullable;

/** The client is closed. */
public final class ClosedException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  ClosedException() {
    this(null);
  }

  ClosedException(@Nullable Throwable cause) {
    super("the client is closed", new ErrorFacts("CLOSED", Status.Code.CANCELLED.value()), cause);
  }
}
