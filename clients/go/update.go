package holdfast

import (
	"context"
	"fmt"
	"slices"
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// An update is one update of metadata. It is repeated after each attach, because
// a lease number is valid in one session only.
type update struct {
	lease *Lease
	// ctx is that of the call.
	ctx context.Context
	// next makes the metadata from those before, with the mutex, when the turn comes.
	next     func(shown map[string]string) map[string]string
	metadata map[string]string
	attempts int
	// lastErr is why the last attempt failed.
	lastErr *Error
	done    chan struct{}
	err     error
}

// update waits for the answer until ctx ends, at most 10 s. Updates of one lease take
// turns, in the order of the calls.
func (e *engine) update(ctx context.Context, l *Lease, next func(shown map[string]string) map[string]string) error {
	limit := time.NewTimer(callTimeout)
	defer limit.Stop()
	u := &update{lease: l, ctx: ctx, next: next, done: make(chan struct{})}
	if err := e.enqueue(u); err != nil {
		return err
	}
	select {
	case <-u.done:
		return u.err
	case <-limit.C:
		return u.giveUp(func() error {
			return e.noAnswer(fmt.Sprintf("no server answered the update of %q", l.name), u.lastErr)
		})
	case <-ctx.Done():
		return u.giveUp(u.gaveUp)
	}
}

func (e *engine) enqueue(u *update) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := u.lease
	if l.isOver() {
		return context.Cause(l.ctx)
	}
	l.updates = append(l.updates, u)
	if l.updates[0] == u {
		u.begin()
	}
	return nil
}

// begin sends the update, because its turn has come.
func (u *update) begin() {
	if u.ctx.Err() != nil {
		u.settle(u.gaveUp())
		return
	}
	u.metadata = u.next(u.lease.shown)
	if err := checkMetadata(u.metadata); err != nil {
		u.settle(err)
		return
	}
	u.place()
}

func (u *update) gaveUp() error {
	return gaveUp(u.ctx, fmt.Sprintf("updating %q", u.lease.name))
}

// giveUp ends the update for its caller, unless the answer has just come.
func (u *update) giveUp(why func() error) error {
	u.lease.e.mu.Lock()
	defer u.lease.e.mu.Unlock()
	u.settle(why())
	return u.err
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
	if place == 0 && len(l.updates) > 0 {
		l.updates[0].begin()
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
