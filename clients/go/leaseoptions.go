package holdfast

import (
	"fmt"
	"maps"
	"time"

	"google.golang.org/grpc/codes"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A LockOption changes how a lock is acquired.
type LockOption interface {
	lockOption(*wanted)
}

// A SemaphoreOption changes how permits are acquired.
type SemaphoreOption interface {
	semaphoreOption(*wanted)
}

// A LeaseOption is an option of locks, semaphores and elections.
type LeaseOption func(*wanted)

func (o LeaseOption) lockOption(w *wanted)      { o(w) }
func (o LeaseOption) semaphoreOption(w *wanted) { o(w) }

type onlyLock func(*wanted)

func (o onlyLock) lockOption(w *wanted) { o(w) }

type onlySemaphore func(*wanted)

func (o onlySemaphore) semaphoreOption(w *wanted) { o(w) }

// WithTTL sets the time for which a lease lasts after its last renewal, for
// example after this process has vanished. The client renews the lease long
// before. From 100 ms to 2 min; 0 and less are refused with ErrInvalidRequest. Default:
// 30 s, of the server.
func WithTTL(ttl time.Duration) LeaseOption {
	return func(w *wanted) { w.ttl = ttl; w.hasTTL = true }
}

// WithWait bounds the wait in the queue. After the wait the error is
// ErrContended. Default: Do and Acquire wait until their context ends.
func WithWait(wait time.Duration) LeaseOption {
	return func(w *wanted) { w.wait = &wait }
}

// WithMaxHold sets the longest time to hold the lease. Then the lease counts as
// lost, with CauseMaxHold, and is released when the work has ended, at the latest
// when its deadline has passed. Heartbeats prove only that the process runs:
// WithMaxHold catches work that hangs. Greater than 0, otherwise the lease is refused
// with ErrInvalidRequest. Default: no bound.
func WithMaxHold(limit time.Duration) LeaseOption {
	return func(w *wanted) { w.maxHold = &limit }
}

// check returns the error of an option that no lease can have.
func (w *wanted) check() error {
	switch {
	case w.maxHold != nil && *w.maxHold <= 0:
		return invalidOption("max_hold", fmt.Sprintf("must be greater than 0, not %v", *w.maxHold))
	case w.hasTTL && w.ttl <= 0:
		return invalidOption("ttl", fmt.Sprintf("must be greater than 0, not %v", w.ttl))
	case w.isExact && w.limit == nil:
		return invalidOption("exact_limit", "needs WithLimit")
	case w.wait != nil && *w.wait < 0:
		return invalidOption("wait", fmt.Sprintf("must not be negative, as %v is", *w.wait))
	}
	for _, err := range []*Error{
		checkTexts("name", w.name),
		checkMetadata(w.metadata),
		checkCount("permits", w.permits),
		checkCount("limit", w.limit),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func invalidOption(field, description string) *Error {
	return &Error{
		Reason:     "INVALID_FIELD",
		Code:       codes.InvalidArgument,
		Message:    optionName(field) + " " + description,
		Violations: []Violation{{field, description}},
	}
}

// WithLeaseMetadata sets the metadata of the lease, which other callers see.
// Default: that of WithMetadata.
func WithLeaseMetadata(metadata map[string]string) LeaseOption {
	metadata = maps.Clone(metadata)
	return func(w *wanted) { w.metadata = metadata }
}

// A QueuePlace is the place of a waiting request.
type QueuePlace struct {
	// Position is 1 for the first waiter.
	Position int
	// WaiterCount includes this request.
	WaiterCount int
	// HolderID is the label of the current holder. May be empty.
	HolderID string
}

// WithQueueNotice calls f with the place in the queue while the request waits, at
// most every 2 s. Do and Acquire call f in their own goroutine.
func WithQueueNotice(f func(QueuePlace)) LeaseOption {
	return func(w *wanted) { w.onQueued = f }
}

// Shared lets any number of shared holders hold the lock together, and no
// exclusive holder beside them.
func Shared() LockOption {
	return onlyLock(func(w *wanted) { w.mode = holdfastv1.LockMode_LOCK_MODE_SHARED })
}

// WithPermits sets the number of permits to hold. Default: 1.
func WithPermits(n int) SemaphoreOption {
	return onlySemaphore(func(w *wanted) { w.permits = &n })
}

// WithLimit creates the semaphore with this number of permits if it does not exist
// yet. 0 pauses it. If the semaphore exists, its own limit holds, and the logger is told
// of each other limit of a name once. Default: the semaphore must exist, otherwise the
// error is ErrNoSuchSemaphore.
func WithLimit(limit int) SemaphoreOption {
	return onlySemaphore(func(w *wanted) { w.limit = &limit })
}

// WithExactLimit demands the limit of WithLimit: if the semaphore has another limit when
// the permits are asked for, the error is ErrLimitMismatch. Needs the permission read,
// otherwise the error is ErrNotAllowed. A later change of the limit is not noticed.
func WithExactLimit() SemaphoreOption {
	return onlySemaphore(func(w *wanted) { w.isExact = true })
}
