package holdfast

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A heldLease is the lease as the engine knows it. It has no handle of a caller, so that a
// handle which the program has forgotten can be collected.
type heldLease struct {
	e       *engine
	id      string // a secret that belongs into no log
	name    string
	token   int64
	permits int
	// holdUntil is the end of the maximal hold, or never.
	holdUntil instant
	deadline  atomic.Int64
	// ctx ends with the lease. Its cause is a *LeaseLostError.
	ctx    context.Context
	finish context.CancelCauseFunc

	// The fields below need the mutex of the engine.

	ttl time.Duration
	// home is the session that holds the lease, or that was last sent an attach.
	home *session
	// number is the number of the lease in home, 0 until the attach is answered.
	number         int64
	attachAttempts int
	timer          *time.Timer
	// updates are those without an answer, in the order of the calls. Only the first one is sent.
	updates []*update
	release *release
	// shown is the metadata that other callers see.
	shown       map[string]string
	isCandidate bool
	// isReleased: this process has released the lease while it was held.
	isReleased bool
}

func newLease(e *engine, in *intent, message *holdfastv1.Lease, until instant) *heldLease {
	l := &heldLease{
		e:         e,
		id:        message.GetLeaseId(),
		name:      message.GetName(),
		token:     message.GetFencingToken(),
		permits:   int(message.GetPermitCount()),
		holdUntil: never,
		ttl:       message.GetTtl().AsDuration(),

		shown:       in.metadata,
		isCandidate: in.isCandidate,
	}
	if in.maxHold != nil {
		l.holdUntil = e.now().add(*in.maxHold)
	}
	l.deadline.Store(int64(until))
	l.ctx, l.finish = context.WithCancelCause(context.Background())
	l.timer = time.AfterFunc(l.remaining(e.now()), l.timerFired)
	return l
}

// check compares the deadline with the clock, because a timer may be late.
func (l *heldLease) check() error {
	if l.ctx.Err() == nil && l.remaining(l.e.now()) > 0 {
		return nil
	}
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	if l.isOver() {
		return context.Cause(l.ctx)
	}
	return nil
}

// giveBack releases a lease that nobody gets, and does not wait for the answer.
func (l *heldLease) giveBack() {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	l.e.releaseLease(l)
}

// forgotten tells that no program can release the lease any more. The renewals go on,
// because the program may count on the lease as long as it runs.
func (l *heldLease) forgotten() {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	if !l.isOver() {
		l.e.notes.add(slog.LevelWarn,
			"the lease was forgotten without a release: the client renews it until it is closed", "lease", l)
	}
}

// LogValue makes a lease safe in logs: its id is a secret.
func (l *heldLease) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("name", l.name), slog.Int64("fencing_token", l.token), slog.Int("permits", l.permits),
	)
}

// String makes a lease safe in texts: its id is a secret.
func (l *heldLease) String() string {
	return fmt.Sprintf("lease of %q with token %d", l.name, l.token)
}

// GoString makes a lease safe in texts: its id is a secret.
func (l *heldLease) GoString() string {
	return l.String()
}

func (l *heldLease) deadlineAt() instant {
	return instant(l.deadline.Load())
}

// remaining returns the time until the deadline or the end of the maximal hold.
func (l *heldLease) remaining(now instant) time.Duration {
	return min(l.deadlineAt(), l.holdUntil).until(now)
}

// The methods below need the mutex of the engine.

// isOver compares the clock too.
func (l *heldLease) isOver() bool {
	now := l.e.now()
	if now >= l.deadlineAt() {
		l.end(CauseDeadline)
	} else if now >= l.holdUntil {
		l.end(CauseMaxHold)
	}
	return l.ctx.Err() != nil
}

// loss returns nil if the lease is held or was released by this process.
func (l *heldLease) loss() *LeaseLostError {
	if !l.isOver() {
		return nil
	}
	lost := context.Cause(l.ctx).(*LeaseLostError)
	if l.isReleased {
		return nil
	}
	return lost
}

// confirm takes the deadline of a renewal or an attach. The latest deadline
// counts, and a deadline that has passed stays passed.
func (l *heldLease) confirm(until instant) {
	if !l.isOver() && until > l.deadlineAt() {
		l.deadline.Store(int64(until))
	}
}

// end ends the belief. Only the first cause counts. A deadline that has passed is
// an earlier cause.
func (l *heldLease) end(cause LossCause) {
	if l.ctx.Err() != nil {
		return
	}
	if l.e.now() >= l.deadlineAt() {
		cause = CauseDeadline
	}
	l.timer.Stop()
	lost := &LeaseLostError{Name: l.name, Cause: cause}
	l.finish(lost)
	l.e.leaseOver(l, lost)
}

// timerFired: a renewal does not move the timer. The timer finds the later
// deadline when it fires.
func (l *heldLease) timerFired() {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	if !l.isOver() {
		l.timer.Reset(l.remaining(l.e.now()))
	}
}

func (l *heldLease) settleIn(s *session, number int64) {
	l.home, l.number, l.attachAttempts = s, number, 0
	if len(l.updates) > 0 {
		l.updates[0].place()
	}
	s.planHeartbeat()
}
