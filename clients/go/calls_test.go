package holdfast

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// An infoServer answers GetServerInfo with the next error, and then with a
// version.
type infoServer struct {
	holdfastv1.UnimplementedServerServiceServer
	version string
	errors  []func(context.Context) error
	calls   int
}

func (s *infoServer) GetServerInfo(
	ctx context.Context, _ *holdfastv1.GetServerInfoRequest,
) (*holdfastv1.GetServerInfoResponse, error) {
	s.calls++
	if len(s.errors) > 0 {
		err := s.errors[0](ctx)
		s.errors = s.errors[1:]
		return nil, err
	}
	return &holdfastv1.GetServerInfoResponse{Version: s.version}, nil
}

func (s *infoServer) start(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	holdfastv1.RegisterServerServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// withTrailers is an error without details, as behind some proxies.
func withTrailers(code codes.Code, trailers ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(trailers...))
		return status.Error(code, "no")
	}
}

func clientOf(t *testing.T, addresses ...string) *Client {
	c := &Client{calls: newCalls(addresses, newSettings(nil)), tracer: noTracer}
	t.Cleanup(c.calls.close)
	return c
}

// eventually waits for a condition outside of a bubble.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func TestACallIsRepeatedAfterTheDelayOfTheServer(t *testing.T) {
	server := &infoServer{version: "1", errors: []func(context.Context) error{
		withTrailers(codes.ResourceExhausted, "holdfast-reason", "OVERLOADED", "grpc-retry-pushback-ms", "300"),
	}}
	began := time.Now()
	info, err := clientOf(t, server.start(t)).ServerInfo(context.Background())
	if err != nil || info.Version != "1" || time.Since(began) < 300*time.Millisecond {
		t.Errorf("version %q, error %v after %v", info.Version, err, time.Since(began))
	}
}

func TestACallGoesToTheNextServerIfOneIsUnavailable(t *testing.T) {
	away := &infoServer{errors: []func(context.Context) error{withTrailers(codes.Unavailable)}}
	other := &infoServer{version: "2"}
	client := clientOf(t, away.start(t), other.start(t))
	info, err := client.ServerInfo(context.Background())
	if err != nil || info.Version != "2" || away.calls != 1 {
		t.Errorf("version %q, error %v, %d calls", info.Version, err, away.calls)
	}
}

func TestAnErrorThatARepetitionDoesNotHelpEndsTheCall(t *testing.T) {
	server := &infoServer{errors: []func(context.Context) error{
		withTrailers(codes.PermissionDenied, "holdfast-reason", "NOT_ALLOWED"),
	}}
	_, err := clientOf(t, server.start(t)).ServerInfo(context.Background())
	var failed *Error
	if !errors.Is(err, ErrNotAllowed) || !errors.As(err, &failed) || failed.Reason != "NOT_ALLOWED" {
		t.Errorf("error %v", err)
	}
	if status.Code(err) != codes.PermissionDenied || server.calls != 1 {
		t.Errorf("code %v, %d calls", status.Code(err), server.calls)
	}
}

func TestACallOfAClosedClientEndsWithErrClosed(t *testing.T) {
	client := clientOf(t, (&infoServer{}).start(t))
	client.calls.close()
	if _, err := client.ServerInfo(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
}

func TestARecordedSelectionIsNotRepeatedAfterABrokenConnection(t *testing.T) {
	isRepeated := func(failed Error, isCounted bool) bool {
		r := repetition{isCounted: isCounted}
		_, again := r.pauseAfter(&failed, true)
		return again
	}
	if broken := (Error{Code: codes.Unavailable}); isRepeated(broken, true) || !isRepeated(broken, false) {
		t.Error("a call that counts is repeated, or another call is not")
	}
	for reason, want := range map[string]bool{"OUTCOME_UNKNOWN": false, "DRAINING": true} {
		if isRepeated(Error{Reason: reason, Code: codes.Unavailable}, true) != want {
			t.Errorf("a call that counts after %s: repeated is %v", reason, !want)
		}
	}
	if unknown := (Error{Reason: "MOON_IS_FULL", Code: codes.Unavailable}); isRepeated(unknown, true) ||
		!isRepeated(unknown, false) {
		t.Error("an unknown reason is not treated as its code says")
	}
	if unknown := (Error{Reason: "MOON_IS_FULL", Code: codes.Internal}); isRepeated(unknown, false) {
		t.Error("an unknown reason with the code INTERNAL is repeated")
	}
}
