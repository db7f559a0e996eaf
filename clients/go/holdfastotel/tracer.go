// Package holdfastotel makes OpenTelemetry spans of the operations of a Holdfast
// client. Programs without this package do not compile OpenTelemetry.
//
//	hf, err := holdfast.Connect(ctx, addresses,
//		holdfast.WithTracer(holdfastotel.NewTracer(otel.GetTracerProvider())))
package holdfastotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	holdfast "holdfast.dev/go"
)

// NewTracer returns a tracer for holdfast.WithTracer. Its spans are named
// "holdfast lock", "holdfast lock.acquire", "holdfast Suggest" and so on, and have
// the attribute holdfast.name.
func NewTracer(provider trace.TracerProvider) holdfast.Tracer {
	tracer := provider.Tracer("holdfast.dev/go")
	return func(ctx context.Context, operation, name string) (context.Context, func(error)) {
		ctx, span := tracer.Start(ctx, "holdfast "+operation,
			trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attribute.String("holdfast.name", name)))
		return ctx, func(err error) {
			if err != nil {
				span.RecordError(err)
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
		}
	}
}
