//go:build go1.25

package holdfast

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// waitInTwoSessions returns a wait that the older session still has, after the newer
// session has got the repetition of its acquire.
func (f *fakeServer) waitInTwoSessions(ctx context.Context) (
	granted chan grant, older *fakeStream, first *holdfastv1.SessionCommand,
	newer *fakeStream, repetition *holdfastv1.SessionCommand,
) {
	f.t.Helper()
	older, _ = f.accept()
	granted = make(chan grant, 1)
	go func() {
		l, err := f.engine.acquire(ctx, report)
		granted <- grant{l, err}
	}()
	first = older.command()
	older.respond(&holdfastv1.OpenSessionResponse{Leaving: &holdfastv1.SessionLeaving{}})
	newer, commands := f.accept()
	if len(commands) != 1 || commands[0].GetAcquireLock().GetRequestId() != first.GetAcquireLock().GetRequestId() {
		f.t.Fatalf("the newer session begins with %v", commands)
	}
	return granted, older, first, newer, commands[0]
}

func TestTheNewerSessionSpeaksForALeaseThatTheOlderOneWasGranted(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		granted, older, first, newer, repetition := f.waitInTwoSessions(context.Background())
		older.grant(first, "secret", 20*time.Second)
		l := (<-granted).lease
		if l.Check() != nil || l.Remaining() != 20*time.Second {
			t.Fatalf("lease %v: %v, %v", l, l.Check(), l.Remaining())
		}
		older.ended(first.GetCommandId(), holdfastv1.SessionEndCause_SESSION_END_CAUSE_SUPERSEDED)
		newer.grant(repetition, "secret", 25*time.Second)
		if l.Check() != nil || l.Remaining() != 25*time.Second {
			t.Errorf("after the newer grant: %v, %v", l.Check(), l.Remaining())
		}
		if len(f.engine.releases) != 0 {
			t.Error("the lease was released")
		}
		newer.ended(repetition.GetCommandId(), holdfastv1.SessionEndCause_SESSION_END_CAUSE_REVOKED)
		if cause := causeOf(t, l.Check()); cause != CauseRevoked {
			t.Errorf("the cause is %s", cause)
		}
	})
}

func TestALeaseOfTheOlderSessionIsAttachedInTheNewerOneAfterAFailedRepetition(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		granted, older, first, newer, repetition := f.waitInTwoSessions(context.Background())
		newer.event(&holdfastv1.SessionEvent{
			CommandId: repetition.GetCommandId(),
			Event: &holdfastv1.SessionEvent_Failed{Failed: &holdfastv1.CommandFailed{
				Code: int32(codes.ResourceExhausted), ReasonText: "OVERLOADED", RetryDelay: durationpb.New(3 * time.Second),
			}},
		})
		older.grant(first, "secret", 20*time.Second)
		l := (<-granted).lease
		attach := newer.command()
		if attach.GetAttach().GetLeaseId() != "secret" {
			t.Fatalf("the newer session got %v", attach)
		}
		newer.grant(attach, "secret", 25*time.Second)
		older.cut()
		if l.Check() != nil || l.Remaining() != 25*time.Second || len(f.engine.releases) != 0 {
			t.Errorf("after the attach: %v, %v", l.Check(), l.Remaining())
		}
	})
}

func TestAGrantOfTheOlderSessionIsReleasedIfItsCallerHasGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		ctx, cancel := context.WithCancel(context.Background())
		granted, older, first, newer, repetition := f.waitInTwoSessions(ctx)
		cancel()
		if got := <-granted; !errors.Is(got.err, context.Canceled) {
			t.Errorf("error %v", got.err)
		}
		if id := newer.command().GetCancel().GetCommandId(); id != repetition.GetCommandId() {
			t.Errorf("command %d was cancelled", id)
		}
		at := time.Now()
		older.grant(first, "secret", 20*time.Second)
		if id := newer.command().GetRelease().GetLeaseId(); id != "secret" || time.Since(at) != 0 {
			t.Errorf("lease %q was released after %v", id, time.Since(at))
		}
	})
}
