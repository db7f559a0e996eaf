//go:build go1.25

package holdfast

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

func TestATokenSourceThatIgnoresItsContextIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	source := func(context.Context) (Token, error) {
		if asked.Add(1) == 1 {
			time.Sleep(time.Hour)
		}
		return Token{Value: " fresh\n"}, nil
	}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		began := time.Now()
		s, _ := f.accept()
		if s.token != "fresh" || asked.Load() != 2 || time.Since(began) < connectTimeout {
			t.Errorf("token %q after %d calls and %v", s.token, asked.Load(), time.Since(began))
		}
		_ = f.engine.close(canceled())
		time.Sleep(time.Hour) // the source ends
	}, WithTokenSource(source))
}

func TestAClientClosesWhileItsTokenSourceHangs(t *testing.T) {
	source := func(context.Context) (Token, error) {
		time.Sleep(time.Hour)
		return Token{}, nil
	}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		time.Sleep(time.Second)
		began := time.Now()
		if err := f.engine.close(context.Background()); err != nil || time.Since(began) != 0 {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
		time.Sleep(time.Hour) // the source ends
	}, WithTokenSource(source))
}

func TestConnectSaysThatTheTokenSourceHangs(t *testing.T) {
	source := func(ctx context.Context) (Token, error) {
		<-ctx.Done()
		return Token{}, ctx.Err()
	}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		err := f.engine.connected(context.Background(), time.Second)
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "the token source has not answered") {
			t.Errorf("error %v", err)
		}
	}, WithTokenSource(source))
}

func TestATokenThatNoHeaderMayHaveIsACredentialErrorWithoutTheToken(t *testing.T) {
	for _, token := range []string{"secret\nsecret", "secret\x00", "sécret"} {
		inBubble(t, func(t *testing.T, f *fakeServer) {
			err := f.engine.connected(context.Background(), time.Second)
			if !errors.Is(err, ErrCredential) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v", err)
			}
			if len(f.streams) != 0 {
				t.Error("a session was opened")
			}
		}, WithToken(token))
	}
}

func TestAPanicOfTheTokenSourceIsAnErrorOfTheAttempt(t *testing.T) {
	var asked atomic.Int32
	source := func(context.Context) (Token, error) {
		if asked.Add(1) == 1 {
			panic("no key")
		}
		return Token{Value: "fresh"}, nil
	}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		s, _ := f.accept()
		if s.token != "fresh" || f.engine.failures != 0 {
			t.Errorf("token %q, %d failures", s.token, f.engine.failures)
		}
	}, WithTokenSource(source))
}

func TestATokenThatHasEndedOpensOneSessionASecond(t *testing.T) {
	source := func(context.Context) (Token, error) { return Token{Value: "old", ExpiresIn: -time.Hour}, nil }
	inBubble(t, func(t *testing.T, f *fakeServer) {
		began := time.Now()
		for range 3 {
			f.accept()
		}
		if time.Since(began) != 2*time.Second {
			t.Errorf("three sessions were opened within %v", time.Since(began))
		}
	}, WithTokenSource(source))
}

func TestAPanicOfTheQueueNoticeLeavesNoWaitBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		s, _ := f.accept()
		panicked := make(chan any)
		go func() {
			defer func() { panicked <- recover() }()
			w := report
			w.onQueued = func(QueuePlace) { panic("boom") }
			_, _ = f.engine.acquire(context.Background(), w)
		}()
		acquire := s.command()
		s.event(&holdfastv1.SessionEvent{
			CommandId: acquire.GetCommandId(),
			Event:     &holdfastv1.SessionEvent_Queued{Queued: &holdfastv1.CommandQueued{Position: 1, WaiterCount: 1}},
		})
		if cause := <-panicked; cause != "boom" {
			t.Errorf("the panic was %v", cause)
		}
		if id := s.command().GetCancel().GetCommandId(); id != acquire.GetCommandId() {
			t.Errorf("command %d was cancelled", id)
		}
	})
}

// A brokenHandler calls the client, and panics.
type brokenHandler struct {
	slog.Handler
	lease func() *Lease
	calls chan struct{}
}

func (h brokenHandler) Handle(context.Context, slog.Record) error {
	if l := h.lease(); l != nil {
		_ = l.Check()
	}
	h.calls <- struct{}{}
	panic("the disk is full")
}

func TestALoggerThatUsesTheClientAndPanicsHarmsNoSession(t *testing.T) {
	var held *Lease
	handler := brokenHandler{slog.NewTextHandler(io.Discard, nil), func() *Lease { return held }, make(chan struct{}, 100)}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, number := f.hold(report)
		held = l
		s.ended(number, holdfastv1.SessionEndCause_SESSION_END_CAUSE_EXPIRED)
		s.cut()
		next, _ := f.accept()
		if next.start.GetSessionNumber() != 2 || len(handler.calls) != 4 {
			t.Errorf("session %d, %d records", next.start.GetSessionNumber(), len(handler.calls))
		}
	}, WithLogger(slog.New(handler)))
}

// A busyHandler calls the client to say whether a level is logged.
type busyHandler struct {
	slog.Handler
	check func()
}

func (h busyHandler) Enabled(context.Context, slog.Level) bool {
	h.check()
	return true
}

func TestALoggerThatUsesTheClientForItsLevelHarmsNoSession(t *testing.T) {
	held := make(chan *Lease, 1)
	var checked atomic.Int32
	handler := busyHandler{slog.NewTextHandler(io.Discard, nil), func() {
		select {
		case l := <-held:
			_ = l.Check()
			checked.Add(1)
		default:
		}
	}}
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, number := f.hold(report)
		held <- l
		s.ended(number, holdfastv1.SessionEndCause_SESSION_END_CAUSE_REVOKED)
		if checked.Load() != 1 || causeOf(t, l.Check()) != CauseRevoked {
			t.Errorf("the logger made %d checks, and the lease has %v", checked.Load(), l.Check())
		}
	}, WithLogger(slog.New(handler)))
}

func TestNoLoggerIsTheDefault(t *testing.T) {
	if set := newSettings([]Option{WithLogger(nil)}); set.logger != slog.Default() {
		t.Errorf("the logger is %v", set.logger)
	}
}

func TestATracerThatPanicsLeavesTheOperationAlone(t *testing.T) {
	begins := newSettings([]Option{WithTracer(func(context.Context, string, string) (context.Context, func(error)) {
		panic("no exporter")
	})})
	ctx, end := begins.tracer(context.Background(), "lock", "report")
	end(nil)
	ends := newSettings([]Option{WithTracer(func(ctx context.Context, _, _ string) (context.Context, func(error)) {
		return ctx, func(error) { panic("no exporter") }
	})})
	_, end = ends.tracer(context.Background(), "lock", "report")
	end(errors.New("failed"))
	if ctx != context.Background() {
		t.Errorf("the context is %v", ctx)
	}
}

func TestCloseIsALossForWorkThatRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		ended := make(chan error)
		go func() {
			ended <- l.held.run(context.Background(), func(ctx context.Context, l *Lease) error {
				<-ctx.Done()
				if causeOf(t, context.Cause(ctx)) != CauseClosed || causeOf(t, l.Check()) != CauseClosed {
					t.Errorf("the work ended with %v", context.Cause(ctx))
				}
				time.Sleep(time.Second)
				return errors.New("half of the report")
			})
		}()
		synctest.Wait()
		closed := make(chan error)
		began := time.Now()
		go func() { closed <- f.engine.close(context.Background()) }()
		s.released(s.command(), true, 0)
		if time.Since(began) != time.Second {
			t.Errorf("the lease was released %v after the close", time.Since(began))
		}
		err := <-ended
		var lost *LeaseLostError
		if !errors.As(err, &lost) || lost.Cause != CauseClosed || lost.Err == nil || !lost.NoticedByClient() {
			t.Errorf("the work ended with %v", err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func TestCloseDoesNotWaitForWorkThatHasLostItsLease(t *testing.T) {
	for _, cause := range []LossCause{CauseRevoked, CauseMaxHold} {
		t.Run(string(cause), func(t *testing.T) { testCloseBesideLostWork(t, cause) })
	}
}

func testCloseBesideLostWork(t *testing.T, cause LossCause) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		w := report
		if cause == CauseMaxHold {
			WithMaxHold(time.Second)(&w)
		}
		l, s, number := f.hold(w)
		ended := make(chan error)
		go func() {
			ended <- l.held.run(context.Background(), func(context.Context, *Lease) error {
				time.Sleep(time.Hour) // ignores its context
				return nil
			})
		}()
		synctest.Wait()
		if cause == CauseRevoked {
			s.ended(number, holdfastv1.SessionEndCause_SESSION_END_CAUSE_REVOKED)
		}
		<-l.Done()
		began := time.Now()
		if err := f.engine.close(context.Background()); err != nil || time.Since(began) != 0 {
			t.Errorf("close: %v after %v", err, time.Since(began))
		}
		for len(s.requests) > 0 {
			for _, command := range (<-s.requests).GetCommands() {
				if command.GetRelease() != nil {
					t.Error("the lease was released before the end of the work")
				}
			}
		}
		if err := <-ended; causeOf(t, err) != cause {
			t.Errorf("the work ended with %v", err)
		}
	})
}

func TestCloseIsALossOfALeaseWithoutKnownWork(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		closed := make(chan error)
		go func() { closed <- f.engine.close(context.Background()) }()
		<-l.Done()
		if cause := causeOf(t, l.Check()); cause != CauseClosed {
			t.Errorf("the cause is %s", cause)
		}
		s.released(s.command(), true, 0)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if err := l.held.run(context.Background(), func(context.Context, *Lease) error {
			t.Error("the work began without a lease")
			return nil
		}); causeOf(t, err) != CauseClosed {
			t.Errorf("the work ended with %v", err)
		}
	})
}

func TestAReleaseThatNobodyAskedForIsALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, number := f.hold(report)
		ended := make(chan error)
		go func() {
			ended <- l.held.run(context.Background(), func(ctx context.Context, _ *Lease) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
		synctest.Wait()
		s.ended(number, holdfastv1.SessionEndCause_SESSION_END_CAUSE_RELEASED)
		s.released(s.command(), false, 0)
		if err := <-ended; causeOf(t, err) != CauseReleased {
			t.Errorf("the work ended with %v", err)
		}
	})
}

func TestCloseReleasesALeaseAfterItsMaximalHold(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		w := report
		WithMaxHold(time.Second)(&w)
		l, s, _ := f.hold(w)
		<-l.Done()
		closed := make(chan error)
		go func() { closed <- f.engine.close(context.Background()) }()
		s.released(s.command(), true, 0)
		if err := <-closed; err != nil || causeOf(t, l.Check()) != CauseMaxHold {
			t.Errorf("close: %v, lease: %v", err, l.Check())
		}
	})
}
