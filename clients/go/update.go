package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// An update is one update of metadata. It is repeated after each attach, because
// a lease number is valid in one session only.
type update struct {
	lease *heldLease
	// givenUp is closed when the caller's context has ended. Its other methods may use the
	// lease, and so need the mutex.
	givenUp <-chan struct{}
	// until is the end of the wait for the answer.
	until instant
	// next makes the metadata from those before, with the mutex, when the turn comes.
	next     func(shown map[string]string) map[string]string
	metadata map[string]string
	attempts int
	// lastErr is why the last attempt failed.
	lastErr *Error
	done    chan struct{}
	err     error
}

// errGivenUp ends an update for a caller who has left.
var errGivenUp = errors.New("holdfast: the caller waits no longer")

// update waits for the answer until ctx ends, at most 10 s. Updates of one lease take
// turns, in the order of the calls.
func (e *engine) update(ctx context.Context, l *heldLease, next func(shown map[string]string) map[string]string) error {
	what := fmt.Sprintf("updating %q", l.name)
	if ctx.Err() != nil {
		return gaveUp(ctx, what)
	}
	limit := time.NewTimer(callTimeout)
	defer limit.Stop()
	u := &update{lease: l, givenUp: ctx.Done(), next: next, done: make(chan struct{})}
	if err := e.enqueue(u); err != nil {
		return err
	}
	select {
	case <-u.done:
	case <-limit.C:
		e.mu.Lock()
		u.settle(u.isLate())
		e.mu.Unlock()
	case <-ctx.Done():
		e.mu.Lock()
		u.settle(errGivenUp)
		e.mu.Unlock()
	}
	if errors.Is(u.err, errGivenUp) {
		return gaveUp(ctx, what)
	}
	return u.err
}

func (e *engine) enqueue(u *update) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := u.lease
	if l.isOver() {
		return context.Cause(l.ctx)
	}
	u.until = e.now() + instant(callTimeout)
	l.updates = append(l.updates, u)
	if l.updates[0] == u {
		l.beginUpdate()
	}
	return nil
}

// beginUpdate sends the first update, because its turn has come. An update that nobody
// waits for, or that no message can have, gives the turn to the next one.
func (l *heldLease) beginUpdate() {
	// The end of the lease ends all its updates.
	for !l.isOver() && len(l.updates) > 0 {
		u := l.updates[0]
		err := u.prepare()
		if err == nil {
			u.place()
			return
		}
		l.updates = l.updates[1:]
		u.err = err
		close(u.done)
	}
}

func (u *update) prepare() error {
	select {
	case <-u.givenUp:
		return errGivenUp
	default:
	}
	if u.lease.e.now() >= u.until {
		return u.isLate()
	}
	u.metadata = u.next(u.lease.shown)
	if err := checkMetadata(u.metadata); err != nil {
		return err
	}
	return nil
}

// isLate returns the error of an update without an answer in time.
func (u *update) isLate() error {
	return u.lease.e.noAnswer(fmt.Sprintf("no server answered the update of %q", u.lease.name), u.lastErr)
}

// place sends the update if the lease is in a session. Otherwise the answer to
// the attach sends it.
func (u *update) place() {
	l := u.lease
	if l.home == nil || l.number == 0 {
		return
	}
	l.home.send(&holdfastv1.SessionCommand{Command: &holdfastv1.SessionCommand_Update{
		Update: &holdfastv1.UpdateCommand{
			LeaseNumber:    l.number,
			MetadataUpdate: &holdfastv1.MetadataUpdate{Entries: u.metadata},
		},
	}}, u)
}

// settle ends the update, and begins the next one. Without effect after the first call.
func (u *update) settle(err error) {
	l := u.lease
	place := slices.Index(l.updates, u)
	if place < 0 {
		return
	}
	l.updates = slices.Delete(l.updates, place, place+1)
	u.err = err
	if err == nil {
		l.shown = u.metadata
	}
	close(u.done)
	if place == 0 {
		l.beginUpdate()
	}
}

// isFirst says whether the update is under way.
func (u *update) isFirst() bool {
	return len(u.lease.updates) > 0 && u.lease.updates[0] == u
}

func (u *update) event(ev *holdfastv1.SessionEvent, _ receipt, s *session) owner {
	switch event := ev.GetEvent().(type) {
	case *holdfastv1.SessionEvent_Updated:
		u.settle(nil)
	case *holdfastv1.SessionEvent_Failed:
		if u.lease.home == s {
			u.failed(errorOfCommand(event.Failed), s)
		}
	}
	return nil
}

func (u *update) failed(failed *Error, s *session) {
	if !isRepeatedCommand(failed) {
		u.settle(failed)
		return
	}
	u.attempts++
	u.lastErr = failed
	u.lease.e.later(pauseBeforeRepeat(u.attempts, failed.retryDelay), func() {
		if u.isFirst() && u.lease.home == s {
			u.place()
		}
	})
}
