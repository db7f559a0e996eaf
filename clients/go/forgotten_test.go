package holdfast

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A generousServer grants every acquire at once, renews every lease, and counts the releases. It
// runs outside of a bubble, as the finalizers do.
type generousServer struct {
	holdfastv1.UnimplementedSessionServiceServer
	ttl time.Duration
	// isSilent: releases get no answer.
	isSilent bool

	mu       sync.Mutex
	releases int
}

func (g *generousServer) OpenSession(stream holdfastv1.SessionService_OpenSessionServer) error {
	var held []int64
	for {
		request, err := stream.Recv()
		if err != nil {
			return nil
		}
		answer := &holdfastv1.OpenSessionResponse{HeartbeatId: request.GetHeartbeatId()}
		if request.GetStart() != nil {
			answer.Started = &holdfastv1.SessionStarted{}
		}
		for _, number := range held {
			answer.Renewals = append(answer.Renewals, &holdfastv1.LeaseRenewal{
				LeaseNumber: number, ExpireOffset: durationpb.New(g.ttl),
			})
		}
		for _, command := range request.GetCommands() {
			event := g.answer(command)
			if event.GetGranted() != nil {
				held = append(held, command.GetCommandId())
			}
			if event != nil {
				answer.Events = append(answer.Events, event)
			}
		}
		if answer.HeartbeatId == 0 {
			answer.HeartbeatId = 1
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

func (g *generousServer) answer(command *holdfastv1.SessionCommand) *holdfastv1.SessionEvent {
	event := &holdfastv1.SessionEvent{CommandId: command.GetCommandId()}
	name := command.GetAcquireLock().GetName() + command.GetAcquirePermits().GetName()
	switch {
	case name != "":
		event.Event = &holdfastv1.SessionEvent_Granted{Granted: &holdfastv1.LeaseGranted{Lease: &holdfastv1.Lease{
			LeaseId: newUUID(), Name: name, FencingToken: 7, PermitCount: 1,
			Ttl: durationpb.New(g.ttl), ExpireOffset: durationpb.New(g.ttl),
		}}}
	case command.GetRelease() != nil:
		g.mu.Lock()
		g.releases++
		g.mu.Unlock()
		if g.isSilent {
			return nil
		}
		event.Event = &holdfastv1.SessionEvent_Released{Released: &holdfastv1.LeaseReleased{Released: true}}
	}
	return event
}

// A forgettingClient knows the names of the leases that its log calls forgotten.
type forgettingClient struct {
	*Client
	t      *testing.T
	server *generousServer

	mu    sync.Mutex
	lines []string
}

func (f *forgettingClient) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.Contains(string(line), "forgotten") {
		f.lines = append(f.lines, string(line))
	}
	return len(line), nil
}

// told returns the lines about forgotten leases.
func (f *forgettingClient) told() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.lines...)
}

func forgetting(t *testing.T, server *generousServer) *forgettingClient {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	grpcServer := grpc.NewServer()
	holdfastv1.RegisterSessionServiceServer(grpcServer, server)
	go func() { _ = grpcServer.Serve(listener) }()
	t.Cleanup(grpcServer.Stop)
	f := &forgettingClient{t: t, server: server}
	logger := slog.New(slog.NewTextHandler(f, nil))
	f.Client, err = Connect(context.Background(), []string{listener.Addr().String()}, WithLogger(logger))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close(canceled()) })
	return f
}

func (f *forgettingClient) lease(name string, options ...LockOption) *Lease {
	f.t.Helper()
	l, err := f.Lock(name, options...).Acquire(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// collect forgets leases of its own, until the log has them. Whatever was unreachable before
// was then collected too.
func (f *forgettingClient) collect() {
	f.t.Helper()
	for _, name := range []string{"first-witness", "second-witness"} {
		func() { _ = f.lease(name).FencingToken() }()
		eventually(f.t, "a forgotten lease is told", func() bool {
			runtime.GC()
			return strings.Contains(strings.Join(f.told(), ""), name)
		})
	}
}

func (f *forgettingClient) heldLease(name string) *heldLease {
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	for _, held := range f.engine.leases.held {
		if held.name == name {
			return held
		}
	}
	return nil
}

func TestAForgottenLeaseIsToldOnceByItsNameAndIsRenewedFurther(t *testing.T) {
	for kind, acquire := range map[string]func(*Client) (*Lease, error){
		"a lock": func(c *Client) (*Lease, error) { return c.Lock("gpu").Acquire(context.Background()) },
		"a lock without a wait": func(c *Client) (*Lease, error) {
			l, _, err := c.Lock("gpu").TryAcquire(context.Background())
			return l, err
		},
		"permits": func(c *Client) (*Lease, error) { return c.Semaphore("gpu").Acquire(context.Background()) },
		"a lead": func(c *Client) (*Lease, error) {
			return c.Election("gpu").Campaign(context.Background(), "here")
		},
		"a lock whose context has ended": func(c *Client) (*Lease, error) {
			l, err := c.Lock("gpu").Acquire(context.Background())
			if err == nil {
				_, cancel := l.WithContext(context.Background())
				cancel()
			}
			return l, err
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := forgetting(t, &generousServer{ttl: 6 * time.Second})
			func() {
				if l, err := acquire(f.Client); err != nil || l.Check() != nil {
					t.Fatal(l, err)
				}
			}()
			eventually(t, "the forgotten lease is told", func() bool {
				runtime.GC()
				return len(f.told()) > 0
			})
			held := f.heldLease("gpu")
			if held == nil {
				t.Fatal("the forgotten lease is not held any more")
			}
			before := held.deadlineAt()
			eventually(t, "the forgotten lease is renewed", func() bool { return held.deadlineAt() > before })
			f.collect()
			told := f.told()
			want := "the lease was forgotten without a release: the client renews it until it is closed"
			if len(told) != 3 || !strings.Contains(told[0], "lease.name=gpu ") || !strings.Contains(told[0], want) {
				t.Errorf("told are %q", told)
			}
			f.server.mu.Lock()
			defer f.server.mu.Unlock()
			if f.server.releases > 0 || held.check() != nil {
				t.Errorf("%d releases, and the lease has %v", f.server.releases, held.check())
			}
		})
	}
}

func TestNoLeaseIsToldThatWasNotForgotten(t *testing.T) {
	ctx := context.Background()
	for name, begin := range map[string]func(f *forgettingClient) (keep any){
		"a handle that is kept": func(f *forgettingClient) any { return f.lease("gpu") },
		"a released lease": func(f *forgettingClient) any {
			_, err := f.lease("gpu").Release(ctx)
			return err
		},
		"a release without an answer": func(f *forgettingClient) any {
			f.server.isSilent = true
			released, stop := context.WithCancel(ctx)
			stop()
			_, err := f.lease("gpu").Release(released)
			return err
		},
		"a lost lease": func(f *forgettingClient) any {
			<-f.lease("gpu", WithMaxHold(time.Millisecond)).held.ctx.Done()
			return nil
		},
		"a context that is kept": func(f *forgettingClient) any {
			work, _ := f.lease("gpu").WithContext(ctx)
			return work
		},
		"a context of that context": func(f *forgettingClient) any {
			work, _ := f.lease("gpu").WithContext(ctx)
			type key struct{}
			return context.WithValue(work, key{}, 1)
		},
		"a wait for the end of a context that is not cancelled yet": func(f *forgettingClient) any {
			work, cancel := f.lease("gpu").WithContext(ctx)
			go func() {
				defer cancel()
				<-work.Done()
			}()
			return nil
		},
		"a wait for the end of a lease": func(f *forgettingClient) any {
			done := f.lease("gpu").Done()
			go func() { <-done }()
			return nil
		},
		"a function under a lock": func(f *forgettingClient) any {
			return f.Lock("gpu").Do(ctx, func(context.Context, *Lease) error {
				f.collect()
				return nil
			})
		},
		"a function that leads": func(f *forgettingClient) any {
			return f.Election("gpu").Lead(ctx, "here", func(context.Context, *Lease) error {
				f.collect()
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forgetting(t, &generousServer{ttl: 30 * time.Second})
			keep := begin(f)
			f.collect()
			if told := strings.Join(f.told(), ""); strings.Contains(told, "gpu") {
				t.Errorf("told is %s", told)
			}
			runtime.KeepAlive(keep)
		})
	}
}

func TestCloseTellsOfNoForgottenLease(t *testing.T) {
	f := forgetting(t, &generousServer{ttl: 30 * time.Second})
	l := f.lease("gpu")
	if err := f.Close(context.Background()); err != nil || l.Check() == nil {
		t.Fatal(err, l)
	}
	l = nil
	other := forgetting(t, &generousServer{ttl: 30 * time.Second})
	other.collect()
	if told := f.told(); len(told) > 0 {
		t.Errorf("told are %q", told)
	}
}
