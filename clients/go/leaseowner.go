package holdfast

import (
	"log/slog"
	"slices"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A leaseOwner hears the events of a lease in one session.
type leaseOwner struct {
	lease  *heldLease
	number int64
}

func (o *leaseOwner) event(ev *holdfastv1.SessionEvent, r receipt, s *session) owner {
	l := o.lease
	switch event := ev.GetEvent().(type) {
	case *holdfastv1.SessionEvent_RenewalFailed:
		l.confirm(deadline(r, event.RenewalFailed.GetExpireOffset().AsDuration(), l.ttl))
		l.e.notes.add(slog.LevelWarn, "the lease could not be renewed", "lease", l, "cause", event.RenewalFailed.GetCause())
	case *holdfastv1.SessionEvent_Ended:
		// After the attach was sent in a later session, or again in this one, only
		// the answer to the attach decides.
		isOld := l.home != nil && s.number < l.home.number
		isOlderAttach := l.home == s && l.number != o.number
		if !isOld && !isOlderAttach {
			l.end(causeOfEnd(event.Ended.GetCause()))
		}
	}
	return nil
}

func (o *leaseOwner) renewed(renewal *holdfastv1.LeaseRenewal, r receipt) {
	l := o.lease
	if ttl := renewal.GetTtl().AsDuration(); ttl > 0 {
		l.e.leases.changeTTL(l, ttl)
	}
	l.confirm(deadline(r, renewal.GetExpireOffset().AsDuration(), l.ttl))
}

// An attachOwner hears the answer to the attach of a lease in the next session.
type attachOwner struct {
	lease *heldLease
}

func (e *engine) attach(l *heldLease, s *session) {
	l.home, l.number = s, 0
	s.send(&holdfastv1.SessionCommand{Command: &holdfastv1.SessionCommand_Attach{
		Attach: &holdfastv1.AttachCommand{LeaseId: l.id},
	}}, &attachOwner{l})
}

func (o *attachOwner) event(ev *holdfastv1.SessionEvent, r receipt, s *session) owner {
	switch event := ev.GetEvent().(type) {
	case *holdfastv1.SessionEvent_Failed:
		o.failed(errorOfCommand(event.Failed), s)
	case *holdfastv1.SessionEvent_Cancelled:
		o.repeat(nil, s)
	case *holdfastv1.SessionEvent_Granted:
		return o.granted(event.Granted.GetLease(), r, s, ev.GetCommandId())
	}
	return nil
}

func (o *attachOwner) granted(message *holdfastv1.Lease, r receipt, s *session, number int64) owner {
	l := o.lease
	ttl := message.GetTtl().AsDuration()
	l.confirm(deadline(r, message.GetExpireOffset().AsDuration(), ttl))
	if l.isOver() || message.GetFencingToken() != l.token {
		l.e.releaseID(l.id, l.ttl)
		return nil
	}
	l.e.leases.changeTTL(l, ttl)
	if l.home == s {
		l.settleIn(s, number)
		l.e.notes.add(slog.LevelDebug, "lease attached", "lease", l, "address", s.server.String())
	}
	return &leaseOwner{l, number}
}

// failed: after every error except these two the deadline decides.
func (o *attachOwner) failed(failed *Error, s *session) {
	l := o.lease
	if l.home != s || l.isOver() {
		return
	}
	switch failed.Reason {
	case "LEASE_NOT_HELD":
		l.end(CauseNotHeld)
	case "SUPERSEDED":
		l.end(CauseSuperseded)
	default:
		o.repeat(failed, s)
	}
}

func (o *attachOwner) repeat(failed *Error, s *session) {
	l := o.lease
	l.attachAttempts++
	pause := pauseBeforeRepeat(l.attachAttempts, nil)
	if failed != nil {
		pause = pauseBeforeRepeat(l.attachAttempts, failed.retryDelay)
	}
	l.e.later(beforeDeadline(pause, l.deadlineAt().until(l.e.now())), func() {
		if l.home == s && l.number == 0 && !l.isOver() {
			l.e.attach(l, s)
		}
	})
}

// leaseOver is called once for each lease, when it is over.
func (e *engine) leaseOver(l *heldLease, lost *LeaseLostError) {
	e.leases.end(l)
	for _, u := range slices.Backward(l.updates) {
		u.settle(lost)
	}
	if l.isReleased || lost.Cause == CauseClosed {
		return
	}
	e.notes.add(slog.LevelWarn, "lease lost", "lease", l, "cause", string(lost.Cause))
	switch lost.Cause {
	case CauseDeadline:
		// The session may still renew the lease. Nobody may rely on the lease after
		// its deadline, whatever the work does.
		l.release = e.releaseID(l.id, l.ttl)
	case CauseMaxHold:
		e.heldTooLong[l] = struct{}{}
		e.later(l.deadlineAt().until(e.now()), func() { e.releaseLease(l) })
	}
}
