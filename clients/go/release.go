package holdfast

import (
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A release is one release, by the id of its lease. It is repeated in each next
// session until the answer comes, or until the lease has surely ended by its ttl.
type release struct {
	e       *engine
	leaseID string
	home    *session
	// attempts counts the failed attempts in a row.
	attempts int
	// lastly ends the task.
	lastly *time.Timer
	// lastErr is why the last attempt failed.
	lastErr *Error
	// done is closed with the answer or the error.
	done   chan struct{}
	answer *holdfastv1.LeaseReleased
	err    error
}

// releaseLease ends the belief in the lease and releases it. nil: the lease is
// held elsewhere, and is not this client's to end.
func (e *engine) releaseLease(l *heldLease) *release {
	if l.release != nil {
		return l.release
	}
	delete(e.heldTooLong, l)
	if !l.isOver() {
		l.isReleased = true
		l.end(CauseReleased)
	}
	if lost := l.loss(); lost != nil && lost.Cause == CauseSuperseded {
		return nil
	}
	if l.release == nil {
		l.release = e.releaseID(l.id, l.ttl)
	}
	return l.release
}

func (e *engine) releaseID(leaseID string, ttl time.Duration) *release {
	if task := e.releases[leaseID]; task != nil {
		return task
	}
	task := &release{e: e, leaseID: leaseID, done: make(chan struct{})}
	if e.isClosed {
		task.err = ErrClosed
		close(task.done)
		return task
	}
	e.releases[leaseID] = task
	if e.current != nil {
		task.place(e.current)
	}
	// A session renews a lease for at most one ttl after the release.
	task.lastly = e.later(releaseIsRepeatedForTTLs*ttl, func() {
		task.settle(nil, e.noAnswer("no server answered the release in time", task.lastErr))
	})
	return task
}

func (t *release) place(s *session) {
	t.home = s
	s.send(&holdfastv1.SessionCommand{Command: &holdfastv1.SessionCommand_Release{
		Release: &holdfastv1.ReleaseCommand{Lease: &holdfastv1.ReleaseCommand_LeaseId{LeaseId: t.leaseID}},
	}}, t)
}

func (t *release) isOpen() bool {
	return t.e.releases[t.leaseID] == t
}

func (t *release) settle(answer *holdfastv1.LeaseReleased, err error) {
	if !t.isOpen() {
		return
	}
	delete(t.e.releases, t.leaseID)
	t.e.stopTimer(t.lastly)
	t.answer, t.err = answer, err
	close(t.done)
	t.e.tellEmpty()
}

func (t *release) event(ev *holdfastv1.SessionEvent, _ receipt, s *session) owner {
	switch event := ev.GetEvent().(type) {
	case *holdfastv1.SessionEvent_Released:
		t.settle(event.Released, nil)
	case *holdfastv1.SessionEvent_Failed:
		if t.home == s {
			t.failed(errorOfCommand(event.Failed), s)
		}
	}
	return nil
}

func (t *release) failed(failed *Error, s *session) {
	if !isRepeatedCommand(failed) {
		t.settle(nil, failed)
		return
	}
	t.attempts++
	t.lastErr = failed
	t.e.later(pauseBeforeRepeat(t.attempts, failed.retryDelay), func() {
		if t.home == s && t.isOpen() {
			t.place(s)
		}
	})
}

// earlyEnd returns the loss if the server has ended the lease before this
// release, so that others may have held it.
func (t *release) earlyEnd(name string) *LeaseLostError {
	if t.answer == nil || t.answer.GetReleased() {
		return nil
	}
	if cause, ok := earlyEnds[t.answer.GetLossCause()]; ok {
		return &LeaseLostError{Name: name, Cause: cause}
	}
	return nil
}
