package holdfast

import (
	"cmp"
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

// maxComparisons bounds the limits that are compared for a warning. A program with more of
// them makes their names as it goes.
const maxComparisons = 10_000

// limits compare the limit of the caller with the limit in force. A server grants
// permits of an existing semaphore whatever limit the request has, and a grant does not
// tell the limit.
type limits struct {
	calls *calls
	notes *notebook

	mu       sync.Mutex
	compared map[string]*comparedLimits
	// count is that of the limits of all names.
	count int
}

// comparedLimits are the limits that the callers want for one name.
type comparedLimits struct {
	wanted map[int]struct{}
	// unanswered has those that the look-up under way is for.
	unanswered []int
	isAsking   bool
	// isHidden: the caller may not read the limit.
	isHidden bool
}

func newLimits(calls *calls, notes *notebook) *limits {
	return &limits{calls: calls, notes: notes, compared: map[string]*comparedLimits{}}
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

// compareLater warns of another limit, once for each limit of a name, after its first grant.
// It neither delays nor fails the grant, and whoever may not read the limit gets no warning.
func (l *limits) compareLater(name string, expected int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.compared[name]
	if c == nil {
		c = &comparedLimits{wanted: map[int]struct{}{}}
	}
	if _, known := c.wanted[expected]; known || c.isHidden || l.count >= maxComparisons {
		return
	}
	l.compared[name] = c
	l.count++
	c.wanted[expected] = struct{}{}
	c.unanswered = append(c.unanswered, expected)
	if c.isAsking {
		return
	}
	c.isAsking = true
	l.calls.begin(func(ctx context.Context) {
		inForce, exists, err := l.limitOf(ctx, name, callTimeout)
		l.answered(name, inForce, exists, err)
	})
}

// answered warns of the limits that differ. Without an answer it forgets them, so that the
// next grant asks again.
func (l *limits) answered(name string, inForce int, exists bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.compared[name]
	unanswered := c.unanswered
	c.unanswered, c.isAsking = nil, false
	c.isHidden = errors.Is(err, ErrNotAllowed)
	if c.isHidden {
		return
	}
	for _, expected := range unanswered {
		if err != nil || !exists {
			delete(c.wanted, expected)
			l.count--
		} else if inForce != expected {
			l.notes.add(slog.LevelWarn,
				"the semaphore has another limit: WithLimit does not change it, and WithExactLimit would have refused the permits",
				"semaphore", name, "limit", inForce, "wanted", expected)
		}
	}
	if len(c.wanted) == 0 {
		delete(l.compared, name)
	}
}

// limitOf returns the limit in force, and false if there is no semaphore. A paused
// semaphore counts with the limit that comes back, so its requests wait.
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
	semaphore := answer.GetSemaphore()
	return int(cmp.Or(semaphore.GetKeptLimit(), semaphore.GetLimit())), err == nil, err
}
