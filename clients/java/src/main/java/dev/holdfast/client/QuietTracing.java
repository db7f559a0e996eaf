package dev.holdfast.client;

import java.util.Map;
import java.util.function.Consumer;

/** Catches the exceptions of the user's tracing, because they would leave a granted lease behind. */
final class QuietTracing implements Tracing {
  private final Tracing tracing;

  QuietTracing(Tracing tracing) {
    this.tracing = tracing;
  }

  @Override
  public Span start(String name, Map<String, String> attributes) {
    try {
      return new QuietSpan(tracing.start(name, attributes));
    } catch (RuntimeException e) {
      Log.error("the tracing has failed", e);
      return Span.NONE;
    }
  }

  private static final class QuietSpan implements Span {
    private final Span span;

    QuietSpan(Span span) {
      this.span = span;
    }

    @Override
    public void fail(Throwable error) {
      tell(told -> told.fail(error));
    }

    @Override
    public void end() {
      tell(Span::end);
    }

    private void tell(Consumer<Span> call) {
      try {
        call.accept(span);
      } catch (RuntimeException e) {
        Log.error("the tracing has failed", e);
      }
    }
  }
}
