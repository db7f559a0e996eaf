package holdfast

import "context"

// A Lock is a lock by its name. It holds nothing itself, and may be used by
// several goroutines, which then compete with each other.
type Lock struct {
	resource
}

// Lock returns the lock with this name, of 1 to 512 bytes.
func (c *Client) Lock(name string, options ...LockOption) *Lock {
	w := wanted{name: name, isLock: true}
	for _, option := range options {
		option.lockOption(&w)
	}
	return &Lock{resource{c, "lock", w}}
}

// Do waits for the lock, runs f, and releases the lock after the end of f.
//
// If the lease is lost, Do cancels the context of f, waits for the end of f, and
// returns a *LeaseLostError with the error of f. context.Cause of that context is
// the *LeaseLostError too. Otherwise Do returns the error of f. Do waits for the
// lock until ctx ends or the time of WithWait has passed (ErrContended).
func (l *Lock) Do(ctx context.Context, f func(ctx context.Context, lease *Lease) error) error {
	return l.do(ctx, f)
}

// Acquire waits for the lock until ctx ends or the time of WithWait has passed
// (ErrContended). Release the lease after the work.
func (l *Lock) Acquire(ctx context.Context) (*Lease, error) {
	return l.acquire(ctx)
}

// TryAcquire takes the lock if it is free, without a wait. ok is false, and err is
// nil, if others hold the lock or wait for it.
func (l *Lock) TryAcquire(ctx context.Context) (lease *Lease, ok bool, err error) {
	return l.tryAcquire(ctx)
}

// A Semaphore is a semaphore by its name. It holds nothing itself, and may be used
// by several goroutines.
type Semaphore struct {
	resource
}

// Semaphore returns the semaphore with this name, of 1 to 512 bytes. See WithLimit
// and WithPermits.
func (c *Client) Semaphore(name string, options ...SemaphoreOption) *Semaphore {
	w := wanted{name: name}
	for _, option := range options {
		option.semaphoreOption(&w)
	}
	return &Semaphore{resource{c, "permits", w}}
}

// Do waits for the permits, runs f, and releases the permits, as Lock.Do does.
func (s *Semaphore) Do(ctx context.Context, f func(ctx context.Context, lease *Lease) error) error {
	return s.do(ctx, f)
}

// Acquire waits for the permits until ctx ends or the time of WithWait has passed
// (ErrContended). Release the lease after the work. Other errors:
// ErrNoSuchSemaphore, ErrNeverFits.
func (s *Semaphore) Acquire(ctx context.Context) (*Lease, error) {
	return s.acquire(ctx)
}

// TryAcquire takes the permits if they are free, without a wait. ok is false, and
// err is nil, if they are not.
func (s *Semaphore) TryAcquire(ctx context.Context) (lease *Lease, ok bool, err error) {
	return s.tryAcquire(ctx)
}
