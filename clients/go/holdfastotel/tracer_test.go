package holdfastotel_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"holdfast.dev/go/holdfastotel"
)

// A recorder notes what happens to spans.
type recorder struct {
	noop.TracerProvider
	notes []string
}

func (r *recorder) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{r: r} }

type tracer struct {
	noop.Tracer
	r *recorder
}

func (t tracer) Start(
	ctx context.Context, name string, options ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	config := trace.NewSpanStartConfig(options...)
	t.r.notes = append(t.r.notes, name+" "+config.Attributes()[0].Value.AsString())
	return ctx, span{r: t.r}
}

type span struct {
	noop.Span
	r *recorder
}

func (s span) SetStatus(code codes.Code, text string) {
	s.r.notes = append(s.r.notes, code.String()+" "+text)
}

func (s span) End(...trace.SpanEndOption) {
	s.r.notes = append(s.r.notes, "end")
}

func TestASpanHasTheNameAndTheErrorOfItsOperation(t *testing.T) {
	r := &recorder{}
	start := holdfastotel.NewTracer(r)
	_, end := start(context.Background(), "lock", "report")
	end(errors.New("boom"))
	_, end = start(context.Background(), "Suggest", "cities")
	end(nil)
	want := []string{"holdfast lock report", "Error boom", "end", "holdfast Suggest cities", "end"}
	if !slices.Equal(r.notes, want) {
		t.Errorf("the spans are %q", r.notes)
	}
}
