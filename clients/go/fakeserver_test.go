//go:build go1.25

package holdfast

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A fakeServer accepts the streams of an engine, inside a bubble of synctest. A
// test fails if a goroutine is left at its end.
type fakeServer struct {
	t       *testing.T
	engine  *engine
	streams chan *fakeStream
	skew    time.Duration // a suspend: counts on the clock, and not in timers
	began   time.Time
}

// A fakeStream is one session, from the view of the server.
type fakeStream struct {
	t         *testing.T
	address   string
	token     string
	requests  chan *holdfastv1.OpenSessionRequest
	responses chan *holdfastv1.OpenSessionResponse
	ctx       context.Context
	broken    chan error
	start     *holdfastv1.SessionStart
	heartbeat int64
	// isMute: heartbeats get no answer.
	isMute bool
}

func inBubble(t *testing.T, test func(*testing.T, *fakeServer), options ...Option) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{t: t, streams: make(chan *fakeStream, 10), began: time.Now()}
		quiet := WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
		set := newSettings(append([]Option{quiet}, options...))
		f.engine = newEngine([]string{"a", "b"}, set, set.connect, f.open, func() instant {
			return instant(time.Since(f.began) + f.skew)
		})
		test(t, f)
		_ = f.engine.close(canceled())
	})
}

func (f *fakeServer) open(ctx context.Context, server target, by admission) (wire, error) {
	s := &fakeStream{
		t: f.t, address: server.given, token: by.token, ctx: ctx,
		requests:  make(chan *holdfastv1.OpenSessionRequest, 100),
		responses: make(chan *holdfastv1.OpenSessionResponse, 100),
		broken:    make(chan error, 1),
	}
	f.streams <- s
	return s, nil
}

func (s *fakeStream) Send(request *holdfastv1.OpenSessionRequest) error {
	s.requests <- request
	return nil
}

func (s *fakeStream) Recv() (*holdfastv1.OpenSessionResponse, error) {
	select {
	case response := <-s.responses:
		return response, nil
	case err := <-s.broken:
		return nil, err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *fakeStream) CloseSend() error {
	s.broken <- io.EOF
	return nil
}

func (s *fakeStream) Close() {}

// accept returns the next session after its start.
func (f *fakeServer) accept() (*fakeStream, []*holdfastv1.SessionCommand) {
	f.t.Helper()
	s := <-f.streams
	request := <-s.requests
	s.start, s.heartbeat = request.GetStart(), request.GetHeartbeatId()
	if s.start == nil || s.heartbeat != 1 {
		f.t.Fatalf("the first request is %v", request)
	}
	s.respond(&holdfastv1.OpenSessionResponse{
		Started:           &holdfastv1.SessionStarted{HeartbeatTimeout: durationpb.New(15 * time.Second)},
		HeartbeatInterval: durationpb.New(5 * time.Second),
	})
	return s, request.GetCommands()
}

// commands waits for the next commands, and answers heartbeats.
func (s *fakeStream) commands() []*holdfastv1.SessionCommand {
	s.t.Helper()
	for request := range s.requests {
		if id := request.GetHeartbeatId(); id > 0 {
			s.heartbeat = id
			if !s.isMute {
				s.respond(&holdfastv1.OpenSessionResponse{})
			}
		}
		if len(request.GetCommands()) > 0 {
			return request.GetCommands()
		}
	}
	return nil
}

func (s *fakeStream) command() *holdfastv1.SessionCommand {
	s.t.Helper()
	commands := s.commands()
	if len(commands) != 1 {
		s.t.Fatalf("%d commands came at once: %v", len(commands), commands)
	}
	return commands[0]
}

func (s *fakeStream) respond(response *holdfastv1.OpenSessionResponse) {
	if response.HeartbeatId == 0 {
		response.HeartbeatId = s.heartbeat
	}
	s.responses <- response
	synctest.Wait()
}

func (s *fakeStream) event(event *holdfastv1.SessionEvent) {
	s.respond(&holdfastv1.OpenSessionResponse{Events: []*holdfastv1.SessionEvent{event}})
}

// grant answers an acquire or attach with a lease that ends after offset.
func (s *fakeStream) grant(command *holdfastv1.SessionCommand, id string, offset time.Duration) {
	s.event(&holdfastv1.SessionEvent{
		CommandId: command.GetCommandId(),
		Event: &holdfastv1.SessionEvent_Granted{Granted: &holdfastv1.LeaseGranted{Lease: &holdfastv1.Lease{
			LeaseId: id, Name: "report", FencingToken: 7, PermitCount: 1,
			Ttl: durationpb.New(30 * time.Second), ExpireOffset: durationpb.New(offset),
		}}},
	})
}

func (s *fakeStream) renew(number int64, offset time.Duration) {
	s.respond(&holdfastv1.OpenSessionResponse{Renewals: []*holdfastv1.LeaseRenewal{
		{LeaseNumber: number, ExpireOffset: durationpb.New(offset)},
	}})
}

func (s *fakeStream) ended(number int64, cause holdfastv1.SessionEndCause) {
	s.event(&holdfastv1.SessionEvent{
		CommandId: number,
		Event:     &holdfastv1.SessionEvent_Ended{Ended: &holdfastv1.LeaseEnded{Cause: cause}},
	})
}

func (s *fakeStream) released(command *holdfastv1.SessionCommand, released bool, cause holdfastv1.LossCause) {
	s.event(&holdfastv1.SessionEvent{
		CommandId: command.GetCommandId(),
		Event: &holdfastv1.SessionEvent_Released{
			Released: &holdfastv1.LeaseReleased{Released: released, LossCause: cause},
		},
	})
}

func (s *fakeStream) cut() {
	s.broken <- status.Error(codes.Unavailable, "cut")
}

// hold returns a lease of the first session. No finalizer watches its handle, because
// finalizers run outside of the bubble.
func (f *fakeServer) hold(w wanted) (*Lease, *fakeStream, int64) {
	f.t.Helper()
	s, _ := f.accept()
	leases := make(chan *heldLease)
	go func() {
		l, err := f.engine.acquire(context.Background(), w)
		if err != nil {
			f.t.Error(err)
		}
		leases <- l
	}()
	command := s.command()
	s.grant(command, "secret", 20*time.Second)
	return &Lease{held: <-leases}, s, command.GetCommandId()
}

var report = wanted{name: "report", isLock: true}
