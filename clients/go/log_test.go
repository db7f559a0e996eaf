//go:build go1.25

package holdfast

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A recorder remembers the level, the message and the attributes of each record.
type recorder struct {
	slog.Handler
	events     []string
	attributes []string
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *recorder) Handle(_ context.Context, record slog.Record) error {
	r.events = append(r.events, record.Level.String()+" "+record.Message)
	record.Attrs(func(a slog.Attr) bool {
		a.Value = a.Value.Resolve()
		r.attributes = append(r.attributes, a.String())
		return true
	})
	return nil
}

// expect compares the events since the last call.
func (r *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(r.events, want) {
		t.Errorf("the log is %q instead of %q", r.events, want)
	}
	r.events = nil
}

func TestTheLogHasTheEventsOfSessionsAndLeases(t *testing.T) {
	log := &recorder{}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		_, s, _ := f.hold(report)
		log.expect(t, "INFO session started")
		s.cut()
		next, commands := f.accept()
		log.expect(t, "WARN session ended", "INFO session started")
		number := commands[0].GetCommandId()
		next.grant(commands[0], "secret", 20*time.Second)
		log.expect(t, "DEBUG lease attached")
		next.event(&holdfastv1.SessionEvent{
			CommandId: number,
			Event:     &holdfastv1.SessionEvent_RenewalFailed{RenewalFailed: &holdfastv1.LeaseRenewalFailed{}},
		})
		log.expect(t, "WARN the lease could not be renewed")
		next.ended(number, holdfastv1.SessionEndCause_SESSION_END_CAUSE_REVOKED)
		log.expect(t, "WARN lease lost")
		next.respond(&holdfastv1.OpenSessionResponse{Leaving: &holdfastv1.SessionLeaving{}})
		f.accept()
		log.expect(t, "INFO the server asks the client to leave", "INFO session started")
		if attributes := strings.Join(log.attributes, " "); strings.Contains(attributes, "secret") {
			t.Errorf("the log has the id of a lease: %s", attributes)
		}
	}, WithLogger(slog.New(log)))
}

func TestTheLogHasNoLossByCloseAndByRelease(t *testing.T) {
	log := &recorder{}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		go func() { _, _ = l.Release(context.Background()) }()
		s.released(s.command(), true, 0)
		granted := make(chan struct{})
		go func() {
			defer close(granted)
			if _, err := f.engine.acquire(context.Background(), report); err != nil {
				t.Error(err)
			}
		}()
		s.grant(s.command(), "other", 20*time.Second)
		<-granted
		_ = f.engine.close(canceled())
		log.expect(t, "INFO session started")
	}, WithLogger(slog.New(log)))
}

func TestTheLogHasRefusalsAndMissingTokens(t *testing.T) {
	log := &recorder{}
	isTokenThere := false
	source := func(context.Context) (Token, error) {
		if !isTokenThere {
			isTokenThere = true
			return Token{}, errors.New("the vault is sealed")
		}
		return Token{Value: "secret"}, nil
	}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		s := <-f.streams
		log.expect(t, "WARN the next session cannot be opened")
		s.broken <- status.Error(codes.PermissionDenied, "HTTP status code 403")
		log.expect(t, "WARN session ended", "WARN the servers refuse this client")
		if attributes := strings.Join(log.attributes, " "); strings.Contains(attributes, "secret") {
			t.Errorf("the log has a token: %s", attributes)
		}
	}, WithTokenSource(source), WithLogger(slog.New(log)))
}
