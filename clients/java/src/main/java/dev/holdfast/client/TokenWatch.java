package dev.holdfast.client;

import org.jspecify.annotations.Nullable;

/** Tells the end of the token of the current session early enough. Belongs to the loop. */
final class TokenWatch {
  private final Loop loop;
  private Loop.@Nullable Timer timer;

  TokenWatch(Loop loop) {
    this.loop = loop;
  }

  /** Watches the token of the latest session, and no earlier one. */
  void begin(@Nullable Token token, Runnable onEnd) {
    cancel();
    if (token != null && token.expiresIn().isPresent()) {
      double life = Durations.nanos(token.expiresIn().get());
      long delay = (long) (life * Numbers.Session.CREDENTIAL_LIFE_USED);
      long shortest = Durations.millis(Numbers.Session.SHORTEST_TOKEN_LIFE_MS);
      timer = loop.schedule(Math.max(shortest, delay), onEnd);
    }
  }

  void cancel() {
    if (timer != null) {
      timer.cancel();
    }
  }
}
