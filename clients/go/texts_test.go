//go:build go1.25

package holdfast

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

const notUTF8 = "caf\xe9"

func TestATextThatNoMessageCanHaveReachesNoSession(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		for _, name := range []string{notUTF8, strings.Repeat("x", maxMessageBytes)} {
			_, err := f.engine.acquire(context.Background(), wanted{name: name, isLock: true})
			if !errors.Is(err, ErrInvalidRequest) {
				t.Errorf("the error of a wrong name is %v", err)
			}
		}
		if err := l.UpdateMetadata(context.Background(), map[string]string{notUTF8: "x"}); !errors.Is(err, ErrInvalidRequest) {
			t.Errorf("the error of wrong metadata is %v", err)
		}
		synctest.Wait()
		if len(s.requests) > 0 || l.Check() != nil {
			t.Errorf("the session got %v, and the lease has %v", <-s.requests, l.Check())
		}
	})
}

func TestConnectRefusesTextsThatNoSessionCanStartWith(t *testing.T) {
	for name, option := range map[string]Option{
		"binary label":    WithHolderID(notUTF8),
		"huge label":      WithHolderID(strings.Repeat("x", maxMessageBytes)),
		"binary metadata": WithMetadata(map[string]string{"job": notUTF8}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Connect(context.Background(), []string{"127.0.0.1:1"}, option)
			if !errors.Is(err, ErrInvalidRequest) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestANumberBeyondItsFieldArrivesAsNoOtherNumber(t *testing.T) {
	for name, option := range map[string]SemaphoreOption{
		"permits": WithPermits(1<<32 + 1),
		"limit":   WithLimit(1 << 32),
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted{name: "gpu"}
			option.semaphoreOption(&w)
			if err := w.check(); !errors.Is(err, ErrInvalidRequest) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if n := nearestInt32(1<<32 + 1); n != 1<<31-1 {
		t.Errorf("the nearest number is %d", n)
	}
}

// A patientServer waits for the queries of a stream.
type patientServer struct {
	holdfastv1.UnimplementedAutocompleteServiceServer
}

func (patientServer) SuggestStream(stream holdfastv1.AutocompleteService_SuggestStreamServer) error {
	<-stream.Context().Done()
	return stream.Context().Err()
}

func TestACallWithATextThatNoMessageCanHaveIsAnInvalidRequest(t *testing.T) {
	ctx := context.Background()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	holdfastv1.RegisterAutocompleteServiceServer(server, patientServer{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	c := clientOf(t, listener.Addr().String())
	dictionary := c.Dictionary(notUTF8)
	calls := map[string]func() error{
		"Suggest": func() error {
			_, err := dictionary.Suggest(ctx, "ber")
			return err
		},
		"Import": func() error {
			_, err := dictionary.Import(ctx, EntriesOf())
			return err
		},
		"Observe": func() (last error) {
			for _, err := range c.Election(notUTF8).Observe(ctx) {
				last = err
			}
			return last
		},
		"TypeAhead": func() error {
			field := dictionary.TypeAhead()
			defer field.Close()
			return (<-field.Type("ber")).Err
		},
	}
	for name, run := range calls {
		t.Run(name, func(t *testing.T) {
			if err := run(); !errors.Is(err, ErrInvalidRequest) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestTheTextsOfServersNameTheOptions(t *testing.T) {
	for text, want := range map[string]string{
		`acquire_permits.initial_limit must be at least 0`: `WithLimit must be at least 0`,
		`acquire_lock.ttl must be at least 100ms`:          `WithTTL must be at least 100ms`,
		`the lock "holder_id" is held, with holder_id "x"`: `the lock "holder_id" is held, with WithHolderID "x"`,
		`repeat the call with the same request_id`:         `call again`,
		`the ttl has passed, and the limit is 3`:           `the ttl has passed, and the limit is 3`,
	} {
		if got := ownNames(text); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}
