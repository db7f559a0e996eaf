//go:build go1.25

package holdfast

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// The texts are those of src/engine and src/transport that name a field of a request of this
// package.
func TestTheTextsOfServersNameTheOptions(t *testing.T) {
	for text, want := range map[string]string{
		`acquire_permits.initial_limit must be at least 0`: `WithLimit must be at least 0`,
		`acquire_permits.permit_count is 0`:                `WithPermits is 0`,
		`acquire_lock.ttl must be at least 100ms`:          `WithTTL must be at least 100ms`,
		`acquire_lock.wait_timeout must not be negative`:   `WithWait must not be negative`,
		`start.holder_id is 600 bytes`:                     `WithHolderID is 600 bytes`,
		`update.metadata_update.entries has 40 entries`:    `metadata has 40 entries`,
		`suggest.page_size is 0`:                           `WithMaxSuggestions is 0`,
		`match_kinds[1] is not a MatchKind`:                `WithMatchKinds[1] is not a MatchKind`,
		`recents_list is required`:                         `WithRecents is required`,
		`max_staleness is not a valid Duration`:            `WithMaxStaleness is not a valid Duration`,
		`entry_ids[3] is required`:                         `the ids[3] is required`,
		`entry_id is required`:                             `EntryID is required`,
		`start.profile.typo_matching is not known`:         `profile.NoTypos is not known`,

		`the lock "holder_id" is held, with holder_id "x"`:                      `the lock "holder_id" is held, with WithHolderID "x"`,
		`lock "a" is held; raise wait_timeout to queue`:                         `lock "a" is held; raise WithWait to queue`,
		`repeat the call with the same request_id to keep waiting`:              `call again to keep waiting`,
		`set its limit, or acquire with initial_limit`:                          `set its limit, or acquire with WithLimit`,
		`which holds nothing; acquire again with a new request_id`:              `which holds nothing; acquire again`,
		`the lease on lock "a" has ended; acquire again with a new request_id`:  `the lease on lock "a" has ended; acquire again`,
		`was made with another permit_count; use a new request_id`:              `was made with another WithPermits; call again`,
		`may have been carried out; repeat the call with request_id 0f-1a`:      `may have been carried out; repeat the call`,
		`may have been carried out; repeat the call with the same lease_id`:     `may have been carried out; repeat the call`,
		`this server is stopping; continue at another server with request_id 7`: `this server is stopping; continue at another server`,
		`release leases, or open a second session with another client_id`:       `release leases, or use a second Client`,

		`the ttl has passed, and the limit is 3`: `the ttl has passed, and the limit is 3`,
	} {
		if got := ownNames(text); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

func TestTheViolationsOfAnErrorNameTheOptionsAndKeepTheirFields(t *testing.T) {
	const field, text = "acquire_lock.wait_timeout", "acquire_lock.wait_timeout must not be negative"
	refused, err := status.New(codes.InvalidArgument, text).WithDetails(&errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, failed := range map[string]*Error{
		"a command": errorOfCommand(&holdfastv1.CommandFailed{
			Message: text, Violations: []*holdfastv1.FieldViolation{{Field: field, Description: text}},
		}),
		"a call": errorOfCall(refused.Err()),
	} {
		want := "WithWait must not be negative"
		if failed.Message != want || !slices.Equal(failed.Violations, []Violation{{field, want}}) {
			t.Errorf("%s: %s, %v", kind, failed.Message, failed.Violations)
		}
	}
}
