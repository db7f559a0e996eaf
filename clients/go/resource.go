package holdfast

import (
	"context"
	"errors"
	"time"
)

// resource is what locks, semaphores and elections share.
type resource struct {
	client *Client
	kind   string
	wanted wanted
}

func (r resource) acquire(ctx context.Context) (*Lease, error) {
	held, err := r.hold(ctx)
	if err != nil {
		return nil, err
	}
	return handed(held), nil
}

// hold returns a lease without a handle.
func (r resource) hold(ctx context.Context) (held *heldLease, err error) {
	ctx, end := r.client.tracer(ctx, r.kind+".acquire", r.wanted.name)
	defer func() { end(err) }()
	return r.client.limits.acquire(ctx, r.wanted, r.client.engine.acquire)
}

func (r resource) tryAcquire(ctx context.Context) (lease *Lease, ok bool, err error) {
	r.wanted.wait = new(time.Duration)
	lease, err = r.acquire(ctx)
	if errors.Is(err, ErrContended) {
		return nil, false, nil
	}
	return lease, err == nil, err
}

func (r resource) do(ctx context.Context, f func(context.Context, *Lease) error) (err error) {
	if f == nil {
		return invalidOption("the function", "must not be nil")
	}
	ctx, end := r.client.tracer(ctx, r.kind, r.wanted.name)
	defer func() { end(err) }()
	held, err := r.hold(ctx)
	if err != nil {
		return err
	}
	return held.run(ctx, f)
}

// run runs the work, waits for its end, and releases the lease. The end of ctx
// does not keep the release from being sent.
func (l *heldLease) run(ctx context.Context, f func(context.Context, *Lease) error) error {
	if lost := l.beginWork(); lost != nil {
		return lost
	}
	handle := &Lease{held: l} // the release after the work is sure
	work, cancel := handle.withContext(ctx)
	hasReturned := false
	defer func() {
		// A panic releases the lease too, and goes on. It waits for the answer, because it
		// may end the process before the release is sent.
		if !hasReturned {
			cancel(nil)
			_, task := l.endWork()
			l.awaitRelease(task)
		}
	}()
	failed := f(work, handle)
	hasReturned = true

	cancel(nil)
	lost, task := l.endWork()
	if lost == nil {
		lost = l.awaitRelease(task)
	}
	switch {
	case lost != nil && errors.Is(failed, lost):
		return failed
	case lost != nil:
		return &LeaseLostError{Name: l.name, Cause: lost.Cause, Err: failed}
	default:
		return failed
	}
}

// beginWork returns an error if the lease is over, so that the work never begins.
func (l *heldLease) beginWork() error {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	if !l.isOver() {
		l.e.bodies[l] = struct{}{}
		return nil
	}
	l.e.releaseLease(l)
	return context.Cause(l.ctx)
}

// endWork compares the clock once more, and sends the release.
func (l *heldLease) endWork() (*LeaseLostError, *release) {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	lost := l.loss()
	task := l.e.releaseLease(l)
	delete(l.e.bodies, l)
	l.e.tellEmpty()
	return lost, task
}

// awaitRelease waits a short time for the answer. A failed release is repeated in
// the background, and never hides how the work ended.
func (l *heldLease) awaitRelease(task *release) *LeaseLostError {
	if task == nil {
		return nil
	}
	timer := time.NewTimer(releaseTimeout)
	defer timer.Stop()
	select {
	case <-task.done:
		return task.earlyEnd(l.name)
	case <-timer.C:
		return nil
	}
}
