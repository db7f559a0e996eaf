package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class OpenTelemetryTracingTest {
  @Test
  @DisplayName("a failed acquire is a span with its name, its attributes and the error")
  void failedSpan() {
    InMemorySpanExporter exporter = InMemorySpanExporter.create();
    try (SdkTracerProvider provider =
        SdkTracerProvider.builder()
            .addSpanProcessor(SimpleSpanProcessor.create(exporter))
            .build()) {
      Tracing tracing = new OpenTelemetryTracing(provider.get("test"));
      Tracing.Span span = tracing.start("holdfast.acquire", Map.of("holdfast.name", "report"));
      span.fail(new IllegalStateException("contended"));
      span.end();
      SpanData seen = exporter.getFinishedSpanItems().get(0);
      assertEquals("holdfast.acquire", seen.getName());
      assertEquals("report", seen.getAttributes().get(AttributeKey.stringKey("holdfast.name")));
      assertEquals(StatusCode.ERROR, seen.getStatus().getStatusCode());
      assertEquals("contended", seen.getStatus().getDescription());
    }
  }
}
