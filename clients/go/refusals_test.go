//go:build go1.25

package holdfast

import (
	"context"
	"errors"
	"testing"
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
				waited := make(chan *Lease)
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
				if granted := <-waited; granted.Check() != nil {
					t.Error(granted.Check())
				}
			})
		})
	}
}

func TestARefusalOfTheFirstSessionFailsConnect(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		(<-f.streams).broken <- &Error{Reason: "NOT_ALLOWED", Code: codes.PermissionDenied}
		began := time.Now()
		err := f.engine.connected(context.Background(), connectTimeout)
		if !errors.Is(err, ErrNotAllowed) || time.Since(began) != 0 {
			t.Errorf("error %v after %v", err, time.Since(began))
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
