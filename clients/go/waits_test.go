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
		l := &Lease{held: (<-granted).lease}
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
		if l.check() != nil || l.remaining(f.engine.now()) != 25*time.Second || len(f.engine.releases) != 0 {
			t.Errorf("after the attach: %v, %v", l.check(), l.remaining(f.engine.now()))
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

// cancelledWait returns a session, and the acquire in it that its caller has cancelled.
func (f *fakeServer) cancelledWait() (*fakeStream, *holdfastv1.SessionCommand) {
	s, _ := f.accept()
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() {
		_, err := f.engine.acquire(ctx, report)
		failed <- err
	}()
	acquire := s.command()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		f.t.Errorf("error %v", err)
	}
	return s, acquire
}

func TestALateGrantOfACancelledWaitIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		s, acquire := f.cancelledWait()
		if id := s.command().GetCancel().GetCommandId(); id != acquire.GetCommandId() {
			t.Errorf("command %d was cancelled", id)
		}
		at := time.Now()
		s.grant(acquire, "secret", 20*time.Second)
		if s.command().GetRelease().GetLeaseId() != "secret" || time.Since(at) != 0 {
			t.Errorf("the grant was released after %v", time.Since(at))
		}
	})
}

func TestAWaitIsRepeatedByItsRequestIDInTheNextSession(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		s, _ := f.accept()
		granted := make(chan *heldLease)
		go func() {
			l, _ := f.engine.acquire(context.Background(), report)
			granted <- l
		}()
		first := s.command().GetAcquireLock()
		s.cut()
		next, commands := f.accept()
		again := commands[0].GetAcquireLock()
		if again.GetRequestId() != first.GetRequestId() || again.GetWaitTimeout() != nil {
			t.Errorf("%v was repeated as %v", first, again)
		}
		next.grant(commands[0], "secret", 20*time.Second)
		if l := <-granted; l.token != 7 {
			t.Errorf("lease %v", l)
		}
	})
}

func TestAbandonedWaitsTakeNoPlaceOfNewOnes(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		s, _ := f.accept()
		s.cut()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		f.engine.mu.Lock()
		gone := newSession(f.engine, target{given: "gone"}, &holdfastv1.SessionStart{})
		f.engine.mu.Unlock()
		for range maxAcquiresUnanswered + 10 {
			in, err := f.engine.begin(report)
			if err != nil {
				t.Fatal(err)
			}
			in.home = gone // the acquire was sent
			_ = f.engine.giveUp(in, ctx.Err())
		}
		if count := len(f.engine.intents); count != maxAcquiresUnanswered || f.engine.abandonedCount != count {
			t.Errorf("%d acquires are kept, %d of them abandoned", count, f.engine.abandonedCount)
		}
		f.engine.mu.Lock()
		gone.leave()
		f.engine.mu.Unlock()
	})
}

func TestAnAbandonedWaitEndsWithTheFirstRefusal(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		s, acquire := f.cancelledWait()
		s.event(&holdfastv1.SessionEvent{
			CommandId: acquire.GetCommandId(),
			Event: &holdfastv1.SessionEvent_Failed{Failed: &holdfastv1.CommandFailed{
				Code: int32(codes.Unavailable), ReasonText: "QUARANTINED",
			}},
		})
		f.engine.mu.Lock()
		defer f.engine.mu.Unlock()
		if len(f.engine.intents) != 0 {
			t.Errorf("%d acquires are kept", len(f.engine.intents))
		}
	})
}
