package dev.holdfast.client;

import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import java.util.Map;

/** Spans of OpenTelemetry. Needs {@code io.opentelemetry:opentelemetry-api} in the program. */
public final class OpenTelemetryTracing implements Tracing {
  private final Tracer tracer;

  public OpenTelemetryTracing(Tracer tracer) {
    this.tracer = tracer;
  }

  @Override
  public Span start(String name, Map<String, String> attributes) {
    SpanBuilder builder = tracer.spanBuilder(name).setSpanKind(SpanKind.CLIENT);
    attributes.forEach(builder::setAttribute);
    io.opentelemetry.api.trace.Span span = builder.startSpan();
    return new Span() {
      @Override
      public void fail(Throwable error) {
        span.setStatus(StatusCode.ERROR, String.valueOf(error.getMessage()));
      }

      @Override
      public void end() {
        span.end();
      }
    };
  }
}
