package holdfast

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"sync/atomic"
	"time"
)

// A Lease is a held lock or held permits. It ends when it is released, when its
// deadline on the own clock passes without a renewal, or when the server tells
// its end. A Lease that is over stays over. All methods may be called by several
// goroutines.
type Lease struct {
	held *heldLease
	// isWatched: the program may wait for the end of the lease without this handle.
	isWatched atomic.Bool
}

// handed returns a handle that its holder must release. If it is collected while the lease
// is held, the logger is told. Nothing that the engine keeps may have the handle.
func handed(held *heldLease) *Lease {
	l := &Lease{held: held}
	runtime.SetFinalizer(l, func(l *Lease) {
		if !l.isWatched.Load() {
			l.held.forgotten()
		}
	})
	return l
}

// Name returns the name of the lock or semaphore.
func (l *Lease) Name() string {
	return l.held.name
}

// Permits returns the number of permits, 1 for a lock.
func (l *Lease) Permits() int {
	return l.held.permits
}

// FencingToken returns a number that is greater than the token of every earlier
// lease of the name. Pass it to the protected store, which refuses smaller
// tokens. Compares the deadline with the clock: if the lease is over, the token is
// 0, which such a store refuses.
func (l *Lease) FencingToken() int64 {
	if l.Check() != nil {
		return 0
	}
	return l.held.token
}

// Check returns nil while this process may rely on the lease, and a
// *LeaseLostError afterwards. Call it before each step of the work. Check
// compares the deadline with the clock, because a timer may be late.
func (l *Lease) Check() error {
	return l.held.check()
}

// Done returns a channel that is closed when the lease is over, also after a
// release. Then Check says why. A program may wait for the channel alone until the lease is
// over, so after Done nothing tells that the lease was forgotten.
func (l *Lease) Done() <-chan struct{} {
	l.isWatched.Store(true)
	return l.held.ctx.Done()
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
	return max(0, l.held.remaining(l.held.e.now()))
}

// WithContext returns a copy of parent that ends with the lease. Then
// context.Cause returns the *LeaseLostError. Call cancel when the work has ended.
func (l *Lease) WithContext(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, end := l.withContext(parent)
	return ctx, func() { end(nil) }
}

// withContext: whoever has the context or its end counts on the lease, so both keep the
// handle. The lease has neither.
func (l *Lease) withContext(parent context.Context) (context.Context, context.CancelCauseFunc) {
	held := l.held
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(held.ctx, func() { cancel(context.Cause(held.ctx)) })
	return leaseContext{ctx, l, cancel}, func(cause error) {
		stop()
		cancel(cause)
		runtime.KeepAlive(l)
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
	// Until the release has begun, the handle is not forgotten.
	defer runtime.KeepAlive(l)
	held := l.held
	timer := time.NewTimer(releaseTimeout)
	defer timer.Stop()
	held.e.mu.Lock()
	task := held.e.releaseLease(held)
	held.e.mu.Unlock()
	if task == nil {
		return false, nil
	}
	select {
	case <-task.done:
		return task.answer.GetReleased(), task.err
	case <-timer.C:
		held.e.mu.Lock()
		defer held.e.mu.Unlock()
		return false, held.e.noAnswer(fmt.Sprintf("no server answered the release of %q yet", held.name), task.lastErr)
	case <-ctx.Done():
		return false, gaveUp(ctx, fmt.Sprintf("releasing %q", held.name))
	}
}

// UpdateMetadata replaces the metadata that other callers see, and waits for the
// answer until ctx ends, at most 10 s. Updates of one lease take turns, and the wait
// for the turn counts. The value of a leader stays. It returns a *LeaseLostError if the
// lease is over, and an error as Release does if no answer came. Such an update may
// still be carried out, and the next update does not know of it.
func (l *Lease) UpdateMetadata(ctx context.Context, metadata map[string]string) error {
	held := l.held
	metadata = maps.Clone(metadata)
	return held.e.update(ctx, held, func(shown map[string]string) map[string]string {
		if !held.isCandidate {
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
	return l.held.LogValue()
}

// String makes a Lease safe in texts: its id is a secret.
func (l *Lease) String() string {
	return l.held.String()
}

// GoString makes a Lease safe in texts: its id is a secret.
func (l *Lease) GoString() string {
	return l.String()
}
