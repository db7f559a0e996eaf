package holdfast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// maxComparedNames bounds the names of semaphores that are looked up for a warning. A
// program with more names makes them as it goes.
const maxComparedNames = 10_000

// limits compare the limit of the caller with the limit in force. A server grants
// permits of an existing semaphore whatever limit the request has, and a grant does not
// tell the limit.
type limits struct {
	calls *calls
	notes *notebook

	mu       sync.Mutex
	compared map[string]struct{}
}

func newLimits(calls *calls, notes *notebook) *limits {
	return &limits{calls: calls, notes: notes, compared: map[string]struct{}{}}
}

// acquire acquires w with grant. With WithExactLimit the error may be ErrLimitMismatch.
func (l *limits) acquire(
	ctx context.Context, w wanted, grant func(context.Context, wanted) (*heldLease, error),
) (*heldLease, error) {
	if w.isExact {
		return l.acquireExactly(ctx, w, grant)
	}
	lease, err := grant(ctx, w)
	if err == nil && w.limit != nil {
		l.compareLater(w.name, *w.limit)
	}
	return lease, err
}

func (l *limits) acquireExactly(
	ctx context.Context, w wanted, grant func(context.Context, wanted) (*heldLease, error),
) (*heldLease, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	limit := callTimeout
	if w.wait != nil {
		limit = min(limit, after(*w.wait, answerAfterWait))
	}
	started := time.Now()
	exists, err := l.compare(ctx, w, limit)
	if err != nil {
		return nil, err
	}
	if w.wait != nil {
		left := max(0, *w.wait-time.Since(started))
		w.wait = &left
	}
	lease, err := grant(ctx, w)
	if err != nil || exists {
		return lease, err
	}
	// Another client may have created the semaphore before this acquire.
	exists, err = l.compare(ctx, w, callTimeout)
	if err == nil && !exists {
		err = &Error{
			Reason:  "NO_SUCH_SEMAPHORE",
			Code:    codes.NotFound,
			Message: fmt.Sprintf("the semaphore %q was deleted meanwhile", w.name),
		}
	}
	if err != nil {
		lease.giveBack()
		return nil, err
	}
	return lease, nil
}

// compare returns false if there is no semaphore yet. It fails if the limit differs, or
// cannot be read.
func (l *limits) compare(ctx context.Context, w wanted, limit time.Duration) (exists bool, err error) {
	inForce, exists, err := l.limitOf(ctx, w.name, limit)
	if err != nil || !exists || inForce == *w.limit {
		return exists, err
	}
	return true, &Error{
		Reason: "LIMIT_MISMATCH",
		Code:   codes.FailedPrecondition,
		Message: fmt.Sprintf(
			"the semaphore %q has the limit %d, and WithExactLimit demands %d", w.name, inForce, *w.limit,
		),
		Metadata: map[string]string{
			"limit": strconv.Itoa(inForce), "expected_limit": strconv.Itoa(*w.limit),
		},
	}
}

// compareLater warns of another limit, once for each name after its first grant. It
// neither delays nor fails the grant, and whoever may not read the limit gets no warning.
func (l *limits) compareLater(name string, expected int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.compared[name]; known || len(l.compared) >= maxComparedNames {
		return
	}
	l.compared[name] = struct{}{}
	l.calls.begin(func(ctx context.Context) {
		inForce, exists, err := l.limitOf(ctx, name, callTimeout)
		if err == nil && exists && inForce != expected {
			l.notes.add(slog.LevelWarn,
				"the semaphore has another limit: WithLimit does not change it, and WithExactLimit would have refused the permits",
				"semaphore", name, "limit", inForce, "wanted", expected)
		}
	})
}

// limitOf returns the limit in force, and false if there is no semaphore.
func (l *limits) limitOf(ctx context.Context, name string, limit time.Duration) (inForce int, exists bool, err error) {
	answer, err := call(ctx, l.calls, operation[*holdfastv1.GetSemaphoreResponse]{
		method: "GetSemaphore", name: name, limit: max(limit, time.Millisecond),
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.GetSemaphoreResponse, error) {
			request := &holdfastv1.GetSemaphoreRequest{Name: name}
			return holdfastv1.NewSemaphoreServiceClient(cc).GetSemaphore(ctx, request)
		},
	})
	if errors.Is(err, ErrNoSuchSemaphore) {
		return 0, false, nil
	}
	return int(answer.GetSemaphore().GetLimit()), err == nil, err
}
