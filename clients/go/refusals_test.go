//go:build go1.25

package holdfast

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestARefusalAfterAFirstSessionEndsNoWaitAndNoLease(t *testing.T) {
	refusals := map[string]error{
		"NOT_ALLOWED": &Error{Reason: "NOT_ALLOWED", Code: codes.PermissionDenied},
		"a proxy":     status.Error(codes.Unimplemented, "HTTP status code 404"),
	}
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *fakeServer) {
				l, s, _ := f.hold(report)
				waited := make(chan *heldLease)
				go func() {
					granted, err := f.engine.acquire(context.Background(), wanted{name: "taken", isLock: true})
					if err != nil {
						t.Error(err)
					}
					waited <- granted
				}()
				s.command()
				s.broken <- refusal
				for range 4 {
					(<-f.streams).broken <- refusal
				}
				next, commands := f.accept()
				if len(commands) != 2 || commands[0].GetAttach() == nil || l.Check() != nil {
					t.Fatalf("lease: %v, commands: %v", l.Check(), commands)
				}
				next.grant(commands[1], "other", 20*time.Second)
				if granted := <-waited; granted.check() != nil {
					t.Error(granted.check())
				}
			})
		})
	}
}

func TestARefusalOfTheFirstSessionFailsConnect(t *testing.T) {
	refusals := map[string]error{
		"a server": &Error{Reason: "NOT_ALLOWED", Code: codes.PermissionDenied},
		"a proxy":  status.Error(codes.PermissionDenied, "HTTP status code 403"),
	}
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *fakeServer) {
				(<-f.streams).broken <- refusal
				began := time.Now()
				err := f.engine.connected(context.Background(), connectTimeout)
				if !errors.Is(err, ErrNotAllowed) || time.Since(began) != 0 {
					t.Errorf("error %v after %v", err, time.Since(began))
				}
			})
		})
	}
}

func TestASecondRefusalOfTheCredentialEndsConnect(t *testing.T) {
	tokens := 0
	source := func(context.Context) (Token, error) {
		tokens++
		return Token{Value: strconv.Itoa(tokens)}, nil
	}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		for _, token := range []string{"1", "2"} {
			s := <-f.streams
			if s.token != token {
				t.Errorf("token %q instead of %q", s.token, token)
			}
			s.broken <- status.Error(codes.Unauthenticated, "HTTP status code 401")
		}
		err := f.engine.connected(context.Background(), connectTimeout)
		if since := time.Since(f.began); !errors.Is(err, ErrCredential) || since > backoff(1) {
			t.Errorf("error %v after %v", err, since)
		}
	}, WithTokenSource(source))
}

func TestConnectReadsTheFileOfACertificateUntilItComes(t *testing.T) {
	authority := filepath.Join(t.TempDir(), "ca.pem")
	inBubble(t, func(t *testing.T, f *fakeServer) {
		err := f.engine.connected(context.Background(), connectTimeout)
		if !errors.Is(err, ErrCredential) || !strings.Contains(err.Error(), authority) || f.engine.failures < 3 {
			t.Errorf("error %v after %d attempts", err, f.engine.failures)
		}
		cert, _ := certificateFiles(t, t.TempDir())
		if err := os.Rename(cert, authority); err != nil {
			t.Fatal(err)
		}
		f.accept()
		if err := f.engine.connected(context.Background(), connectTimeout); err != nil {
			t.Error(err)
		}
	}, WithTLSFiles(TLSFiles{CA: authority}))
}

func TestRefusedCredentialsAfterAFirstSessionPauseByTheBackoff(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		refused := status.Error(codes.Unauthenticated, "the token has ended")
		s, _ := f.accept()
		s.broken <- refused
		began, longest := time.Now(), longestPauseAfterBreak
		for failures := 1; failures <= 5; failures++ {
			(<-f.streams).broken <- refused
			longest += backoff(failures)
		}
		next, _ := f.accept()
		if pauses := time.Since(began); pauses > longest || next.start.GetSessionNumber() != 7 {
			t.Errorf("session %d came after pauses of %v", next.start.GetSessionNumber(), pauses)
		}
	})
}

func TestAnErrorWithoutAKnownReasonHasTheClassOfItsCode(t *testing.T) {
	classes := map[codes.Code]error{
		codes.Unavailable:        ErrUnavailable,
		codes.DeadlineExceeded:   ErrUnavailable,
		codes.Unauthenticated:    ErrCredential,
		codes.PermissionDenied:   ErrNotAllowed,
		codes.ResourceExhausted:  ErrLimitReached,
		codes.InvalidArgument:    ErrInvalidRequest,
		codes.FailedPrecondition: nil,
		codes.Internal:           nil,
	}
	for code, class := range classes {
		for _, reason := range []string{"", "OF_A_NEWER_SERVER"} {
			if got := (&Error{Reason: reason, Code: code}).class(); got != class {
				t.Errorf("%v with the reason %q has the class %v", code, reason, got)
			}
		}
	}
}

func TestAMaxHoldThatIsNotGreaterThan0IsRefusedBeforeAnythingIsSent(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		s, _ := f.accept()
		client := &Client{engine: f.engine, tracer: noTracer}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		for _, limit := range []time.Duration{0, -time.Second} {
			_, err := client.Lock("report", WithMaxHold(limit)).Acquire(ctx)
			var failed *Error
			if !errors.Is(err, ErrInvalidRequest) || !errors.As(err, &failed) ||
				failed.Reason != "INVALID_FIELD" || failed.Violations[0].Field != "max_hold" {
				t.Errorf("%v: error %v", limit, err)
			}
		}
		synctest.Wait()
		if len(s.requests) != 0 || len(f.engine.intents) != 0 {
			t.Errorf("%d requests were sent, %d acquires wait", len(s.requests), len(f.engine.intents))
		}
	})
}

func TestThePauseBeforeASessionIsAdvisedWithinHalfOfTheTimeToTheDeadline(t *testing.T) {
	for _, c := range []struct{ advised, nearest, want time.Duration }{
		{3 * time.Second, noTTL, 3 * time.Second},
		{time.Minute, noTTL, longestBackoff},
		{time.Minute, 4 * time.Second, 2 * time.Second},
		{time.Minute, -time.Second, shortestPause},
	} {
		if pause := pauseBeforeSession(0, c.advised, c.nearest); pause != c.want {
			t.Errorf("the pause is %v with %v to the deadline", pause, c.nearest)
		}
	}
}
