package dev.holdfast.client;

import java.util.Map;

/**
 * Makes spans for acquires and calls. {@link OpenTelemetryTracing} makes them with OpenTelemetry.
 */
@FunctionalInterface
public interface Tracing {
  /** Makes no spans. */
  Tracing NONE = (name, attributes) -> Span.NONE;

  /** One span. */
  interface Span {
    /** Does nothing. */
    Span NONE =
        new Span() {
          @Override
          public void fail(Throwable error) {}

          @Override
          public void end() {}
        };

    /** The work of the span has failed. Called before {@link #end}. */
    void fail(Throwable error);

    void end();
  }

  /** Starts a span. */
  Span start(String name, Map<String, String> attributes);
}
