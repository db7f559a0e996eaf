//go:build go1.25

package holdfast

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

func TestUpdatesAreSentOneAfterTheOtherInTheOrderOfTheCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		election := (&Client{engine: f.engine, tracer: noTracer}).Election("report")
		l, s, _ := f.hold(election.candidate("host-0").wanted)
		done := make(chan error, 7)
		for n := range 6 {
			go func() {
				done <- l.UpdateMetadata(context.Background(), map[string]string{"stage": strconv.Itoa(n)})
			}()
			synctest.Wait()
		}
		go func() { done <- election.UpdateValue(context.Background(), l, "host-1") }()
		synctest.Wait()
		for n := range 7 {
			want := map[string]string{"stage": strconv.Itoa(n), "value": "host-0"}
			if n == 6 {
				want = map[string]string{"stage": "5", "value": "host-1"}
			}
			s.updated(s.update(want))
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAnUpdateThatIsGivenUpMakesRoomForTheNextOne(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		ctx, cancel := context.WithCancel(context.Background())
		first, waits, last := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { first <- l.UpdateMetadata(ctx, map[string]string{"stage": "one"}) }()
		old := s.command()
		go func() { waits <- l.UpdateMetadata(ctx, map[string]string{"stage": "two"}) }()
		synctest.Wait()
		go func() { last <- l.UpdateMetadata(context.Background(), map[string]string{"stage": "three"}) }()
		synctest.Wait()
		cancel()
		for _, given := range []chan error{first, waits} {
			if err := <-given; !errors.Is(err, context.Canceled) {
				t.Errorf("the update returned %v instead of the error of the context", err)
			}
		}
		command := s.update(map[string]string{"stage": "three"})
		s.updated(old)
		synctest.Wait()
		if len(last) > 0 {
			t.Error("the answer to an update that was given up has ended the next one")
		}
		s.updated(command)
		if err := <-last; err != nil {
			t.Error(err)
		}
	})
}

func TestAnUpdateMayHaveTheContextOfTheWorkUnderTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		ctx, cancel := l.WithContext(context.Background())
		defer cancel()
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- l.UpdateMetadata(ctx, nil) }()
		command := s.command()
		go func() { second <- l.UpdateMetadata(ctx, nil) }()
		synctest.Wait()
		// The machine sleeps beyond the deadline.
		f.skew = time.Hour
		s.updated(command)
		<-first
		var lost *LeaseLostError
		if err := <-second; !errors.As(err, &lost) {
			t.Errorf("the update returned %v instead of the loss", err)
		}
	})
}

func TestUpdatesThatAreLateTogetherAreNotSent(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		done := make(chan error, 3)
		for range 3 {
			go func() { done <- l.UpdateMetadata(context.Background(), nil) }()
		}
		s.command()
		for range 3 {
			if err := <-done; !errors.Is(err, ErrUnavailable) {
				t.Errorf("the update returned %v instead of ErrUnavailable", err)
			}
		}
		go func() { done <- l.UpdateMetadata(context.Background(), map[string]string{"stage": "last"}) }()
		// No update whose caller had left is sent.
		s.updated(s.update(map[string]string{"stage": "last"}))
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAnUpdateWithAnEndedContextIsNotSent(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, _, _ := f.hold(report)
		err := l.UpdateMetadata(canceled(), nil)
		if !errors.Is(err, context.Canceled) || len(l.held.updates) > 0 {
			t.Errorf("the update returned %v, and %d updates wait", err, len(l.held.updates))
		}
	})
}

func TestAnUpdateWithoutAnAnswerSaysWhyItsLastAttemptFailed(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeServer) {
		l, s, _ := f.hold(report)
		done := make(chan error, 1)
		go func() { done <- l.UpdateMetadata(context.Background(), nil) }()
		s.event(&holdfastv1.SessionEvent{
			CommandId: s.command().GetCommandId(),
			Event: &holdfastv1.SessionEvent_Failed{Failed: &holdfastv1.CommandFailed{
				Code: int32(codes.Unavailable), ReasonText: "STORE_UNAVAILABLE",
			}},
		})
		s.command()
		var failure *Error
		if err := <-done; !errors.As(err, &failure) || failure.Reason != "STORE_UNAVAILABLE" {
			t.Errorf("the update returned %v instead of STORE_UNAVAILABLE", err)
		}
	})
}

// update returns the next command, which is an update with this metadata.
func (s *fakeStream) update(want map[string]string) *holdfastv1.SessionCommand {
	s.t.Helper()
	command := s.command()
	if sent := command.GetUpdate().GetMetadataUpdate().GetEntries(); !maps.Equal(sent, want) {
		s.t.Fatalf("the metadata is %v instead of %v", sent, want)
	}
	return command
}

func (s *fakeStream) updated(command *holdfastv1.SessionCommand) {
	s.event(&holdfastv1.SessionEvent{
		CommandId: command.GetCommandId(),
		Event:     &holdfastv1.SessionEvent_Updated{Updated: &holdfastv1.LeaseUpdated{}},
	})
}
