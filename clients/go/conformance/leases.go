package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	holdfast "holdfast.dev/go"
)

type lease struct {
	*holdfast.Lease
	grantedAt  time.Time
	isReleased atomic.Bool
}

// acquirer is a lock, a semaphore or a candidate.
type acquirer interface {
	Acquire(context.Context) (*holdfast.Lease, error)
	TryAcquire(context.Context) (*holdfast.Lease, bool, error)
}

func leaseOptions(c command) []holdfast.LeaseOption {
	var options []holdfast.LeaseOption
	if c.TTLMs != nil {
		options = append(options, holdfast.WithTTL(millis(*c.TTLMs)))
	}
	if c.WaitMs != nil {
		options = append(options, holdfast.WithWait(millis(*c.WaitMs)))
	}
	if c.MaxHoldMs != nil {
		options = append(options, holdfast.WithMaxHold(millis(*c.MaxHoldMs)))
	}
	if c.Metadata != nil {
		options = append(options, holdfast.WithLeaseMetadata(c.Metadata))
	}
	return options
}

func (hf *client) lock(c command) *holdfast.Lock {
	var options []holdfast.LockOption
	for _, option := range leaseOptions(c) {
		options = append(options, option)
	}
	if c.Mode == "shared" {
		options = append(options, holdfast.Shared())
	}
	return hf.Lock(c.Name, options...)
}

func (hf *client) acquirer(c command) acquirer {
	if !strings.HasSuffix(c.Do, "permits") {
		return hf.lock(c)
	}
	var options []holdfast.SemaphoreOption
	for _, option := range leaseOptions(c) {
		options = append(options, option)
	}
	if c.Permits != nil {
		options = append(options, holdfast.WithPermits(*c.Permits))
	}
	if c.Limit != nil {
		options = append(options, holdfast.WithLimit(*c.Limit))
	}
	if c.ExactLimit {
		options = append(options, holdfast.WithExactLimit())
	}
	return hf.Semaphore(c.Name, options...)
}

func (d *driver) acquire(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	held, err := hf.acquirer(c).Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return d.granted(c, held), nil
}

func (d *driver) tryAcquire(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	held, ok, err := hf.acquirer(c).TryAcquire(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return result{"contended": true}, nil
	}
	return d.granted(c, held), nil
}

// granted keeps the lease, and writes an event when it is lost.
func (d *driver) granted(c command, held *holdfast.Lease) result {
	l := &lease{Lease: held, grantedAt: time.Now()}
	token := held.FencingToken()
	d.mu.Lock()
	d.leases[c.Lease] = l
	d.mu.Unlock()
	watchers.Add(1)
	go func() {
		defer watchers.Add(-1)
		<-held.Done()
		var lost *holdfast.LeaseLostError
		if !errors.As(held.Check(), &lost) || l.isReleased.Load() {
			return
		}
		d.write(result{
			"event": "lost", "lease": c.Lease, "cause": string(lost.Cause), "noticed_by": noticedBy(lost),
			"at_ms": float64(time.Since(l.grantedAt)) / float64(time.Millisecond),
		})
	}()
	return result{"granted": result{"token": strconv.FormatInt(token, 10)}}
}

// watchers counts the goroutines that wait for the loss of a lease.
var watchers atomic.Int64

func (d *driver) watching() int {
	return int(watchers.Load())
}

func noticedBy(lost *holdfast.LeaseLostError) string {
	if lost.NoticedByClient() {
		return "client"
	}
	return "server"
}

func (d *driver) lease(c command) (*lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.leases[c.Lease]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("there is no lease %q", c.Lease)
}

func (d *driver) check(_ context.Context, c command) (result, error) {
	l, err := d.lease(c)
	if err != nil {
		return nil, err
	}
	if err := l.Check(); err != nil {
		return nil, err
	}
	remaining := float64(l.Remaining()) / float64(time.Millisecond)
	return result{"valid": true, "remaining_ms": remaining}, nil
}

func (d *driver) release(ctx context.Context, c command) (result, error) {
	l, err := d.lease(c)
	if err != nil {
		return nil, err
	}
	l.isReleased.Store(true)
	released, err := l.Release(ctx)
	return result{"released": released}, err
}

func (d *driver) update(ctx context.Context, c command) (result, error) {
	l, err := d.lease(c)
	if err != nil {
		return nil, err
	}
	return result{"updated": true}, l.UpdateMetadata(ctx, c.Metadata)
}

func (d *driver) withLock(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	err = hf.lock(c).Do(ctx, func(ctx context.Context, held *holdfast.Lease) error {
		return d.body(ctx, c, strconv.FormatInt(held.FencingToken(), 10))
	})
	return result{"done": true}, err
}

// body is the work of with_lock.
func (d *driver) body(ctx context.Context, c command, token string) error {
	state := func(name string) {
		d.write(result{"event": "body", "of": c.ID, "state": name, "token": token})
	}
	d.mu.Lock()
	work := d.work[c.ID]
	d.mu.Unlock()
	state("started")
	defer state("ended")
	select {
	case fail := <-work:
		return workError(fail)
	case <-ctx.Done():
		state("cancelled")
	}
	if c.IgnoreCancel {
		return workError(<-work)
	}
	return context.Cause(ctx)
}

func workError(fail *string) error {
	if fail == nil {
		return nil
	}
	return errors.New(*fail)
}

func (d *driver) endWork(_ context.Context, c command) (result, error) {
	d.mu.Lock()
	work := d.work[c.Of]
	d.mu.Unlock()
	if work == nil {
		return nil, fmt.Errorf("command %d does no work", c.Of)
	}
	work <- c.Fail
	return result{"ended": true}, nil
}

func (d *driver) cancel(_ context.Context, c command) (result, error) {
	d.mu.Lock()
	cancel := d.running[c.Of]
	d.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return result{"cancelled": true}, nil
}
