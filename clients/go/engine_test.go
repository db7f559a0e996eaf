//go:build go1.25

package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

func causeOf(t *testing.T, err error) LossCause {
	t.Helper()
	var lost *LeaseLostError
	if !errors.As(err, &lost) {
		t.Fatalf("%v is no loss", err)
	}
	return lost.Cause
}

func TestALeaseIsLostAtItsDeadlineAndReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		at := time.Now()
		if s.command().GetRelease().GetLeaseId() != "secret" || time.Since(at) != 20*time.Second {
			t.Errorf("the lease of 20 s was released after %v", time.Since(at))
		}
		if cause := causeOf(t, l.Check()); cause != CauseDeadline {
			t.Errorf("the cause is %s", cause)
		}
		if l.FencingToken() != 0 || l.Remaining() != 0 {
			t.Error("a lost lease has a token or a remaining time")
		}
	})
}

func TestAnOffsetCountsFromTheHeartbeatThatItsResponseNames(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, number := f.hold(report)
		time.Sleep(5 * time.Second)
		request := <-s.requests // heartbeat 2, after 5 s
		time.Sleep(3 * time.Second)
		s.heartbeat = request.GetHeartbeatId()
		s.renew(number, 25*time.Second)
		if remaining := l.Remaining(); remaining != 22*time.Second {
			t.Errorf("the remaining time is %v", remaining)
		}
		s.renew(number, 10*time.Second)
		if remaining := l.Remaining(); remaining != 22*time.Second {
			t.Errorf("an earlier deadline counts: %v", remaining)
		}
	})
}

func TestAResponseToAnUnknownHeartbeatIsBelievedInNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, number := f.hold(report)
		s.respond(&holdfastv1.OpenSessionResponse{
			HeartbeatId: 99,
			Renewals:    []*holdfastv1.LeaseRenewal{{LeaseNumber: number}},
			Events: []*holdfastv1.SessionEvent{{CommandId: number, Event: &holdfastv1.SessionEvent_Ended{
				Ended: &holdfastv1.LeaseEnded{},
			}}},
		})
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		next, commands := f.accept()
		if next.address != "b" || next.start.GetSessionNumber() != 2 || len(commands) != 1 {
			t.Errorf("the next session of %s begins with %v", next.address, commands)
		}
	})
}

func TestASilentServerIsLeftAfterAQuarterOfTheTTL(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		s.isMute = true
		at := time.Now()
		next, commands := f.accept()
		// The first heartbeat without an answer was sent after 5 s, and 30 s / 4 is
		// the patience.
		if left := time.Since(at); left < 12500*time.Millisecond || left > 13600*time.Millisecond {
			t.Errorf("the silent server was left after %v", left)
		}
		if len(commands) != 1 || commands[0].GetAttach().GetLeaseId() != "secret" {
			t.Fatalf("the next session begins with %v", commands)
		}
		next.grant(commands[0], "secret", 25*time.Second)
		if err := l.Check(); err != nil || l.Remaining() != 25*time.Second {
			t.Errorf("after the attach: %v, %v", err, l.Remaining())
		}
		// The older session does not speak for the lease any more.
		next.ended(commands[0].GetCommandId(), holdfastv1.SessionEndCause_SESSION_END_CAUSE_REVOKED)
		if cause := causeOf(t, l.Check()); cause != CauseRevoked {
			t.Errorf("the cause is %s", cause)
		}
	})
}

func TestALeaseWithASentReleaseIsNeverAttached(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		done := make(chan bool)
		go func() {
			released, err := l.Release(context.Background())
			done <- released && err == nil
		}()
		if id := s.command().GetRelease().GetLeaseId(); id != "secret" {
			t.Errorf("the release names %q", id)
		}
		s.cut()
		next, commands := f.accept()
		if len(commands) != 1 || commands[0].GetRelease().GetLeaseId() != "secret" {
			t.Fatalf("the next session begins with %v", commands)
		}
		next.released(commands[0], true, 0)
		if !<-done {
			t.Error("the release was not answered")
		}
	})
}

func TestALossCancelsTheWorkAndItsEndIsAwaited(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, number := f.hold(report)
		broken := errors.New("half of the report")
		var cause error
		ended := make(chan error)
		go func() {
			ended <- l.held.run(context.Background(), func(ctx context.Context, _ *Lease) error {
				<-ctx.Done()
				cause = context.Cause(ctx)
				time.Sleep(time.Second)
				return broken
			})
		}()
		synctest.Wait()
		at := time.Now()
		s.ended(number, holdfastv1.SessionEndCause_SESSION_END_CAUSE_STORE_RESET)
		err := <-ended
		if causeOf(t, err) != CauseStoreReset || !errors.Is(err, broken) || time.Since(at) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(at))
		}
		if causeOf(t, cause) != CauseStoreReset {
			t.Errorf("the cause of the context is %v", cause)
		}
	})
}

func TestAReleaseThatComesAfterARevocationIsALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		ended := make(chan error)
		go func() {
			ended <- l.held.run(context.Background(), func(context.Context, *Lease) error { return nil })
		}()
		s.released(s.command(), false, holdfastv1.LossCause_LOSS_CAUSE_REVOKED)
		if err := <-ended; causeOf(t, err) != CauseRevoked {
			t.Errorf("error %v", err)
		}
	})
}

func TestAPanicReleasesTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		panicked := make(chan any)
		go func() {
			defer func() { panicked <- recover() }()
			_ = l.held.run(context.Background(), func(context.Context, *Lease) error { panic("boom") })
		}()
		release := s.command()
		synctest.Wait()
		select {
		case <-panicked:
			t.Error("the panic went on before the answer to the release")
		default:
			s.released(release, true, 0)
			if release.GetRelease().GetLeaseId() != "secret" || <-panicked != "boom" {
				t.Error("the panic did not go on after the release")
			}
		}
	})
}

func TestMaxHoldEndsHungWorkAndReleasesAtTheDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		w := report
		WithMaxHold(2 * time.Second)(&w)
		l, s, _ := f.hold(w)
		<-l.Done()
		if cause := causeOf(t, l.Check()); cause != CauseMaxHold {
			t.Errorf("the cause is %s", cause)
		}
		at := time.Now()
		if s.command().GetRelease().GetLeaseId() != "secret" || time.Since(at) != 18*time.Second {
			t.Errorf("the lease was released after %v", time.Since(at))
		}
	})
}

func TestTheClockIsComparedAfterASuspend(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, _, _ := f.hold(report)
		ctx, cancel := l.WithContext(context.Background())
		defer cancel()
		f.skew = time.Minute
		if ctx.Err() == nil || causeOf(t, context.Cause(ctx)) != CauseDeadline || l.FencingToken() != 0 {
			t.Error("the lease is believed in after a suspend of a minute")
		}
	})
}

func TestCloseEndsWaitsAndReleasesLeases(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		waited := make(chan error)
		go func() {
			_, err := f.engine.acquire(context.Background(), report)
			waited <- err
		}()
		acquire := s.command()
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		closed := make(chan error)
		go func() { closed <- f.engine.close(ctx) }()
		if err := <-waited; !errors.Is(err, ErrClosed) {
			t.Errorf("the wait ended with %v", err)
		}
		for _, command := range s.commands() {
			if command.GetRelease() != nil {
				s.released(command, true, 0)
			} else if command.GetCancel().GetCommandId() == acquire.GetCommandId() {
				s.event(&holdfastv1.SessionEvent{
					CommandId: acquire.GetCommandId(),
					Event:     &holdfastv1.SessionEvent_Cancelled{Cancelled: &holdfastv1.CommandCancelled{}},
				})
			}
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if _, err := f.engine.acquire(ctx, report); !errors.Is(err, ErrClosed) || l.Check() == nil {
			t.Errorf("after close: %v, %v", err, l.Check())
		}
	})
}

func TestTheIDOfALeaseStandsInNoText(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, _, _ := f.hold(report)
		texts := fmt.Sprintf("%v %+v %#v %s", l, l, l, l.LogValue())
		if strings.Contains(texts, "secret") || !strings.Contains(texts, "report") {
			t.Errorf("the texts of a lease: %s", texts)
		}
	})
}

func TestAnUpdateOfMetadataKeepsTheValueOfTheLeader(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		election := (&Client{engine: f.engine, tracer: noTracer}).Election("report")
		l, s, _ := f.hold(election.candidate("host-1").wanted)
		for _, step := range []struct {
			update func() error
			want   map[string]string
		}{
			{
				func() error {
					return l.UpdateMetadata(context.Background(), map[string]string{"zone": "b", "value": "x"})
				},
				map[string]string{"zone": "b", "value": "host-1"},
			},
			{
				func() error { return election.UpdateValue(context.Background(), l, "host-2") },
				map[string]string{"zone": "b", "value": "host-2"},
			},
			{
				func() error { return l.UpdateMetadata(context.Background(), nil) },
				map[string]string{"value": "host-2"},
			},
		} {
			done := make(chan error)
			go func() { done <- step.update() }()
			s.updated(s.update(step.want))
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}
