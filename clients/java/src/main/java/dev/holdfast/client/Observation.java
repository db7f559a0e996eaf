package dev.holdfast.client;

import java.util.concurrent.CompletableFuture;

/** A running observation. Thread-safe. */
public interface Observation extends AutoCloseable {
  /** Completes after {@link #close}, and exceptionally if the observation cannot go on. */
  CompletableFuture<Void> ended();

  /** Ends the observation. The listener may still run once. */
  @Override
  void close();
}
