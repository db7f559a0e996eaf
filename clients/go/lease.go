package holdfast

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A Lease is a held lock or held permits. It ends when it is released, when its
// deadline on the own clock passes without a renewal, or when the server tells
// its end. A Lease that is over stays over. All methods may be called by several
// goroutines.
type Lease struct {
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

func newLease(e *engine, in *intent, message *holdfastv1.Lease, until instant) *Lease {
	l := &Lease{
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

// Name returns the name of the lock or semaphore.
func (l *Lease) Name() string {
	return l.name
}

// Permits returns the number of permits, 1 for a lock.
func (l *Lease) Permits() int {
	return l.permits
}

// FencingToken returns a number that is greater than the token of every earlier
// lease of the name. Pass it to the protected store, which refuses smaller
// tokens. Compares the deadline with the clock: if the lease is over, the token is
// 0, which such a store refuses.
func (l *Lease) FencingToken() int64 {
	if l.Check() != nil {
		return 0
	}
	return l.token
}

// Check returns nil while this process may rely on the lease, and a
// *LeaseLostError afterwards. Call it before each step of the work. Check
// compares the deadline with the clock, because a timer may be late.
func (l *Lease) Check() error {
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

// Done returns a channel that is closed when the lease is over, also after a
// release. Then Check says why.
func (l *Lease) Done() <-chan struct{} {
	return l.ctx.Done()
}

// Deadline returns the time until which this process may rely on the lease, and the
// present time if the lease is over. Each renewal makes it later. Compare it with
// time.Now or time.Until, and never after Round or UTC, which drop the monotonic
// clock.
func (l *Lease) Deadline() time.Time {
	return time.Now().Add(l.Remaining())
}

// Remaining returns the time until the deadline, 0 if the lease is over.
func (l *Lease) Remaining() time.Duration {
	if l.Check() != nil {
		return 0
	}
	return max(0, l.remaining(l.e.now()))
}

// WithContext returns a copy of parent that ends with the lease. Then
// context.Cause returns the *LeaseLostError. Call cancel when the work has ended.
func (l *Lease) WithContext(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, end := l.withContext(parent)
	return ctx, func() { end(nil) }
}

func (l *Lease) withContext(parent context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return leaseContext{ctx, l, cancel}, func(cause error) {
		stop()
		cancel(cause)
	}
}

// leaseContext also compares the clock, because a timer may be late.
type leaseContext struct {
	context.Context
	lease  *Lease
	cancel context.CancelCauseFunc
}

// Err returns nil while the work may go on.
func (c leaseContext) Err() error {
	if c.Context.Err() == nil {
		if lost := c.lease.Check(); lost != nil {
			c.cancel(lost)
		}
	}
	return c.Context.Err()
}

// Release releases the lease, after the work has ended. It returns true if the
// work was protected until this release, and false if the lease had ended before.
// Release is sent even if ctx has ended, and is repeated in the background if no
// answer comes. Release waits for the answer until ctx ends, and at most 5 s. After 5 s
// the error matches ErrUnavailable, or the refusal if the servers refuse the client.
func (l *Lease) Release(ctx context.Context) (released bool, err error) {
	timer := time.NewTimer(releaseTimeout)
	defer timer.Stop()
	l.e.mu.Lock()
	task := l.e.releaseLease(l)
	l.e.mu.Unlock()
	if task == nil {
		return false, nil
	}
	select {
	case <-task.done:
		return task.answer.GetReleased(), task.err
	case <-timer.C:
		l.e.mu.Lock()
		defer l.e.mu.Unlock()
		return false, l.e.noAnswer(fmt.Sprintf("no server answered the release of %q yet", l.name), task.lastErr)
	case <-ctx.Done():
		return false, gaveUp(ctx, fmt.Sprintf("releasing %q", l.name))
	}
}

// giveBack releases a lease that nobody gets, and does not wait for the answer.
func (l *Lease) giveBack() {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	l.e.releaseLease(l)
}

// UpdateMetadata replaces the metadata that other callers see, and waits for the
// answer until ctx ends, at most 10 s. Updates of one lease take turns, and the wait
// for the turn counts. The value of a leader stays. It returns a *LeaseLostError if the
// lease is over, and an error as Release does if no answer came. Such an update may
// still be carried out, and the next update does not know of it.
func (l *Lease) UpdateMetadata(ctx context.Context, metadata map[string]string) error {
	metadata = maps.Clone(metadata)
	return l.e.update(ctx, l, func(shown map[string]string) map[string]string {
		if !l.isCandidate {
			return metadata
		}
		if metadata == nil {
			metadata = map[string]string{}
		}
		metadata[valueKey] = shown[valueKey]
		return metadata
	})
}

// LogValue makes a Lease safe in logs: its id is a secret.
func (l *Lease) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("name", l.name), slog.Int64("fencing_token", l.token), slog.Int("permits", l.permits),
	)
}

// String makes a Lease safe in texts: its id is a secret.
func (l *Lease) String() string {
	return fmt.Sprintf("lease of %q with token %d", l.name, l.token)
}

// GoString makes a Lease safe in texts: its id is a secret.
func (l *Lease) GoString() string {
	return l.String()
}

func (l *Lease) deadlineAt() instant {
	return instant(l.deadline.Load())
}

// remaining returns the time until the deadline or the end of the maximal hold.
func (l *Lease) remaining(now instant) time.Duration {
	return min(l.deadlineAt(), l.holdUntil).until(now)
}

// The methods below need the mutex of the engine.

// isOver compares the clock too.
func (l *Lease) isOver() bool {
	now := l.e.now()
	if now >= l.deadlineAt() {
		l.end(CauseDeadline)
	} else if now >= l.holdUntil {
		l.end(CauseMaxHold)
	}
	return l.ctx.Err() != nil
}

// loss returns nil if the lease is held or was released by this process.
func (l *Lease) loss() *LeaseLostError {
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
func (l *Lease) confirm(until instant) {
	if !l.isOver() && until > l.deadlineAt() {
		l.deadline.Store(int64(until))
	}
}

// end ends the belief. Only the first cause counts. A deadline that has passed is
// an earlier cause.
func (l *Lease) end(cause LossCause) {
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
func (l *Lease) timerFired() {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	if !l.isOver() {
		l.timer.Reset(l.remaining(l.e.now()))
	}
}

func (l *Lease) settleIn(s *session, number int64) {
	l.home, l.number, l.attachAttempts = s, number, 0
	if len(l.updates) > 0 {
		l.updates[0].place()
	}
	s.planHeartbeat()
}
