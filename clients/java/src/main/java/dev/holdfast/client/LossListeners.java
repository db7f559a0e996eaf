package dev.holdfast.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The listeners of the loss of one lease. Its lease guards them by their own monitor. */
final class LossListeners {
  private final String name;
  private final Callbacks callbacks;
  private final List<Consumer<LeaseLostException>> waiting = new ArrayList<>();

  LossListeners(String name, Callbacks callbacks) {
    this.name = name;
    this.callbacks = callbacks;
  }

  void add(Consumer<LeaseLostException> listener) {
    waiting.add(Objects.requireNonNull(listener, "listener"));
  }

  /**
   * Calls all listeners on a thread for such calls, and forgets them.
   *
   * @param cause null: this process has released the lease, so nobody hears
   */
  void tell(@Nullable LossCause cause) {
    if (cause != null) {
      for (Consumer<LeaseLostException> listener : waiting) {
        callbacks.run(() -> listener.accept(new LeaseLostException(name, cause, null)));
      }
    }
    waiting.clear();
  }
}
