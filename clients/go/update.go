package holdfast

import (
	"context"
	"fmt"
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// An update is one update of metadata. It is repeated after each attach, because
// a lease number is valid in one session only.
type update struct {
	lease    *Lease
	metadata map[string]string
	attempts int
	done     chan struct{}
	err      error
}

// update waits for the answer until ctx ends. Updates of one lease take turns. next
// makes the metadata from those before, and is called with the mutex.
func (e *engine) update(ctx context.Context, l *Lease, next func(shown map[string]string) map[string]string) error {
	for {
		u, isMine, err := e.beginUpdate(l, next)
		if err != nil {
			return err
		}
		if isMine {
			return e.answered(ctx, u)
		}
		select {
		case <-u.done:
		case <-ctx.Done():
			return gaveUp(ctx, fmt.Sprintf("updating %q", l.name))
		}
	}
}

// answered waits for the answer, at most 10 s.
func (e *engine) answered(ctx context.Context, u *update) error {
	limit := time.NewTimer(callTimeout)
	defer limit.Stop()
	var err error
	select {
	case <-u.done:
		return u.err
	case <-limit.C:
		err = e.noAnswer(fmt.Sprintf("no server answered the update of %q", u.lease.name))
	case <-ctx.Done():
		err = gaveUp(ctx, fmt.Sprintf("updating %q", u.lease.name))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	u.settle(err)
	return err
}

// beginUpdate returns the update that is under way, if there is one.
func (e *engine) beginUpdate(
	l *Lease, next func(shown map[string]string) map[string]string,
) (u *update, isMine bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l.isOver() {
		return nil, false, context.Cause(l.ctx)
	}
	if l.update != nil {
		return l.update, false, nil
	}
	metadata := next(l.shown)
	if err := checkMetadata(metadata); err != nil {
		return nil, false, err
	}
	l.update = &update{lease: l, metadata: metadata, done: make(chan struct{})}
	l.update.place()
	return l.update, true, nil
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

func (u *update) settle(err error) {
	if u.lease.update == u {
		u.lease.update = nil
		u.err = err
		if err == nil {
			u.lease.shown = u.metadata
		}
		close(u.done)
	}
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
	u.lease.e.later(pauseBeforeRepeat(u.attempts, failed.retryDelay), func() {
		if u.lease.update == u && u.lease.home == s {
			u.place()
		}
	})
}
