package holdfast

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A limitServer has one limit for every semaphore, or refuses to tell it.
type limitServer struct {
	holdfastv1.UnimplementedSemaphoreServiceServer
	began chan struct{}
	fails chan codes.Code
	// waits holds the answers back. nil: it does not.
	waits chan struct{}
}

func (s *limitServer) GetSemaphore(
	context.Context, *holdfastv1.GetSemaphoreRequest,
) (*holdfastv1.GetSemaphoreResponse, error) {
	s.began <- struct{}{}
	if s.waits != nil {
		<-s.waits
	}
	select {
	case code := <-s.fails:
		return nil, status.Error(code, "no")
	default:
		return &holdfastv1.GetSemaphoreResponse{Semaphore: &holdfastv1.Semaphore{Limit: 4}}, nil
	}
}

// A limitLog has the warnings of another limit.
type limitLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *limitLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, what, _ := strings.Cut(strings.TrimSpace(string(line)), " semaphore=")
	l.lines = append(l.lines, what)
	return len(line), nil
}

func (l *limitLog) expect(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the log is %q", want), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Equal(l.lines, want)
	})
}

func comparing(t *testing.T, server *limitServer) (*limits, *limitLog) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.began = make(chan struct{}, 100)
	grpcServer := grpc.NewServer()
	holdfastv1.RegisterSemaphoreServiceServer(grpcServer, server)
	go func() { _ = grpcServer.Serve(listener) }()
	t.Cleanup(grpcServer.Stop)
	log := &limitLog{}
	notes := &notebook{logger: slog.New(slog.NewTextHandler(log, nil))}
	return newLimits(clientOf(t, listener.Addr().String()).calls, notes), log
}

// grant acquires without a server of sessions.
func (l *limits) grant(t *testing.T, name string, limit int) {
	t.Helper()
	_, err := l.acquire(context.Background(), wanted{name: name, limit: &limit},
		func(context.Context, wanted) (*heldLease, error) { return &heldLease{}, nil })
	if err != nil {
		t.Fatal(err)
	}
}

func (l *limits) isAsking(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.compared[name] != nil && l.compared[name].isAsking
}

func TestEachOtherLimitOfANameIsToldOnce(t *testing.T) {
	l, log := comparing(t, &limitServer{})
	l.grant(t, "gpu", 9)
	log.expect(t, "gpu limit=4 wanted=9")
	l.grant(t, "gpu", 9)
	l.grant(t, "gpu", 4)
	l.grant(t, "gpu", 8)
	log.expect(t, "gpu limit=4 wanted=9", "gpu limit=4 wanted=8")
	l.grant(t, "cpu", 9)
	log.expect(t, "gpu limit=4 wanted=9", "gpu limit=4 wanted=8", "cpu limit=4 wanted=9")
}

func TestOneLookUpAtATimeServesAllLimitsOfAName(t *testing.T) {
	server := &limitServer{waits: make(chan struct{})}
	l, log := comparing(t, server)
	l.grant(t, "gpu", 9)
	<-server.began
	l.grant(t, "gpu", 8)
	l.grant(t, "gpu", 4)
	l.grant(t, "gpu", 9)
	close(server.waits)
	log.expect(t, "gpu limit=4 wanted=9", "gpu limit=4 wanted=8")
	if len(server.began) > 0 {
		t.Errorf("%d further look-ups", len(server.began))
	}
}

func TestALimitIsComparedByTheNextGrantIfTheLookUpHasFailed(t *testing.T) {
	for _, code := range []codes.Code{codes.FailedPrecondition, codes.ResourceExhausted, codes.Unimplemented} {
		t.Run(code.String(), func(t *testing.T) {
			server := &limitServer{fails: make(chan codes.Code, 1)}
			l, log := comparing(t, server)
			server.fails <- code
			l.grant(t, "gpu", 9)
			eventually(t, "the look-up ends", func() bool { return len(server.began) == 1 && !l.isAsking("gpu") })
			l.grant(t, "gpu", 9)
			log.expect(t, "gpu limit=4 wanted=9")
			if l.count != 1 {
				t.Errorf("%d limits are known", l.count)
			}
		})
	}
}

func TestALimitThatTheCallerMayNotReadIsAskedForOnce(t *testing.T) {
	server := &limitServer{fails: make(chan codes.Code, 1)}
	l, log := comparing(t, server)
	server.fails <- codes.PermissionDenied
	l.grant(t, "gpu", 9)
	eventually(t, "the look-up ends", func() bool { return len(server.began) == 1 && !l.isAsking("gpu") })
	l.grant(t, "gpu", 8)
	l.grant(t, "gpu", 9)
	l.grant(t, "cpu", 9)
	log.expect(t, "cpu limit=4 wanted=9")
	if len(server.began) != 2 {
		t.Errorf("%d look-ups", len(server.began))
	}
}

func TestTheComparedLimitsAreBounded(t *testing.T) {
	l, log := comparing(t, &limitServer{})
	l.count = maxComparisons - 1
	l.grant(t, "gpu", 9)
	log.expect(t, "gpu limit=4 wanted=9")
	l.grant(t, "gpu", 8)
	l.grant(t, "cpu", 8)
	if len(l.compared) != 1 || len(l.compared["gpu"].wanted) != 1 || l.count != maxComparisons {
		t.Errorf("%d names and %d limits are known", len(l.compared), l.count)
	}
}
