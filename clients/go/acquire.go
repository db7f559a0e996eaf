package holdfast

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// acquire waits for the lease until ctx ends. Callers do not hold the mutex.
func (e *engine) acquire(ctx context.Context, w wanted) (*heldLease, error) {
	what := fmt.Sprintf("waiting for %q", w.name)
	if ctx.Err() != nil {
		return nil, gaveUp(ctx, what)
	}
	in, err := e.begin(w)
	if err != nil {
		return nil, err
	}
	isDone := false
	defer func() {
		// A panic of onQueued goes on, and leaves no lease behind.
		if !isDone {
			_ = e.giveUp(in, ErrClosed)
		}
	}()
	lease, err := e.await(ctx, in, what)
	isDone = true
	return lease, err
}

func (e *engine) await(ctx context.Context, in *intent, what string) (*heldLease, error) {
	var late <-chan time.Time
	if in.wait != nil {
		timer := time.NewTimer(after(*in.wait, answerAfterWait))
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case got := <-in.answer:
			return got.lease, got.err
		case place := <-in.queued:
			in.onQueued(place)
		case <-late:
			e.mu.Lock()
			e.abandon(in, e.noAnswer(fmt.Sprintf("no server answered while %s", what), in.lastErr))
			e.mu.Unlock()
			late = nil
		case <-ctx.Done():
			return nil, e.giveUp(in, gaveUp(ctx, what))
		}
	}
}

// noAnswer returns the error of a command without an answer. It says why no session lasts,
// or else why the last attempt of the command failed. The caller holds the mutex.
func (e *engine) noAnswer(what string, last *Error) *Error {
	if e.lastErr != nil {
		last = e.lastErr
	}
	return noAnswer(what, last)
}

// giveUp abandons the intent. A grant that has just come is released.
func (e *engine) giveUp(in *intent, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.abandon(in, err)
	if got := <-in.answer; got.lease != nil {
		e.releaseLease(got.lease)
	}
	return err
}

func (e *engine) begin(w wanted) (*intent, error) {
	w.metadata = maps.Clone(w.metadata)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := w.check(); err != nil {
		return nil, err
	}
	switch {
	case e.isClosing:
		return nil, ErrClosed
	case e.failure != nil:
		return nil, e.failure
	case len(e.intents)-e.abandonedCount >= maxAcquiresUnanswered:
		return nil, &Error{
			Reason:  "QUOTA_EXCEEDED",
			Code:    codes.ResourceExhausted,
			Message: fmt.Sprintf("%d acquires of this client wait already", maxAcquiresUnanswered),
		}
	}
	e.lastSeq++
	in := &intent{
		wanted:    w,
		e:         e,
		seq:       e.lastSeq,
		startedAt: e.now(),
		requestID: newUUID(),
		answer:    make(chan grant, 1),
		queued:    make(chan QueuePlace, 1),
	}
	e.intents[in] = struct{}{}
	// A server that leaves may refuse new acquires. The next session sends this one.
	if e.current != nil && !e.current.isLeaving {
		e.place(in, e.current)
	}
	return in, nil
}

func (e *engine) place(in *intent, s *session) {
	in.home = s
	in.isPausing = false
	in.commandID = s.send(in.command(), in)
	if in.isAbandoned {
		e.cancelCommand(in)
	}
}

func (e *engine) cancelCommand(in *intent) {
	in.home.send(&holdfastv1.SessionCommand{Command: &holdfastv1.SessionCommand_Cancel{
		Cancel: &holdfastv1.CancelCommand{CommandId: in.commandID},
	}}, nil)
}

// abandon tells the caller at once. The intent stays until the server has
// answered, because a grant may be under way.
func (e *engine) abandon(in *intent, err error) {
	in.settle(nil, err)
	if _, waits := e.intents[in]; !waits || in.isAbandoned {
		return
	}
	if in.home == nil {
		e.forget(in)
		return
	}
	in.isAbandoned = true
	e.abandonedCount++
	e.abandoned = append(e.abandoned, in)
	e.cancelCommand(in)
	// A grant under way ends by its ttl, if nobody releases it.
	life := in.ttl
	if life <= 0 {
		life = longestTTL
	}
	in.forgetTimer = e.later(life, func() {
		e.forget(in)
		e.tellEmpty()
	})
	// The client also releases a lease of a forgotten intent, if the session hears of the grant.
	if len(e.abandoned) > maxAcquiresUnanswered {
		e.forget(e.abandoned[0])
		e.abandoned = e.abandoned[1:]
	}
}

// forget ends an intent.
func (e *engine) forget(in *intent) {
	if _, waits := e.intents[in]; !waits {
		return
	}
	delete(e.intents, in)
	e.stopTimer(in.forgetTimer)
	if in.isAbandoned {
		e.abandonedCount--
	}
}

func (e *engine) granted(
	in *intent, message *holdfastv1.Lease, r receipt, s *session, number int64,
) owner {
	until := deadline(r, message.GetExpireOffset().AsDuration(), message.GetTtl().AsDuration())
	if known := e.leases.held[message.GetLeaseId()]; known != nil {
		// The grant of an older session was read before the answer of this one.
		known.confirm(until)
		if known.home == nil || known.home.number <= s.number {
			known.settleIn(s, number)
		}
		return &leaseOwner{known, number}
	}
	_, waits := e.intents[in]
	e.forget(in)
	defer e.tellEmpty()
	switch {
	case !waits || in.isAbandoned || e.leases.isOver(message.GetLeaseId()):
		e.releaseID(message.GetLeaseId(), message.GetTtl().AsDuration())
		return nil
	case until <= e.now():
		e.grantedTooLate(in, message)
		return nil
	}
	l := newLease(e, in, message, until)
	e.leases.add(l)
	in.lease = l
	switch {
	case in.home == nil || in.home.number <= s.number:
		l.settleIn(s, number)
	case in.isPausing:
		e.attach(l, in.home)
	default:
		// The repetition in a later session attaches to the lease, so only that
		// session speaks for the lease.
		l.home = in.home
	}
	in.settle(l, nil)
	return &leaseOwner{l, number}
}

// grantedTooLate handles a grant that is over on arrival, so the work never
// began.
func (e *engine) grantedTooLate(in *intent, message *holdfastv1.Lease) {
	e.releaseID(message.GetLeaseId(), message.GetTtl().AsDuration())
	if in.takeNewID() {
		e.intents[in] = struct{}{}
		in.home = nil
		if e.current != nil {
			e.place(in, e.current)
		}
		return
	}
	in.settle(nil, noAnswer(fmt.Sprintf("the grant of %q came after the end of its lease", in.name), nil))
}

func (e *engine) acquireFailed(in *intent, failed *Error, s *session) {
	if in.home != s {
		return
	}
	// The repetition of an acquire is the attach of its lease.
	if in.lease != nil && in.lease.number == 0 {
		(&attachOwner{in.lease}).failed(failed, s)
		return
	}
	if _, waits := e.intents[in]; !waits {
		return
	}
	in.lastErr = failed
	if failed.Reason == "REQUEST_FINISHED" && in.takeNewID() {
		e.place(in, s)
		return
	}
	if isRepeatedCommand(failed) && in.isWorthAttempts(failed) {
		in.attempts++
		in.isPausing = true
		// The next session sends the acquire again.
		if s.isLeaving && failed.Reason == "DRAINING" {
			return
		}
		e.later(pauseBeforeRepeat(in.attempts, failed.retryDelay), func() {
			if _, waits := e.intents[in]; waits && in.isPausing && in.home == s {
				e.place(in, s)
			}
		})
		return
	}
	e.forget(in)
	in.settle(nil, failed)
	e.tellEmpty()
}

// isRepeatedCommand says whether a repetition with the same id may help. An
// unknown reason is treated as its code says.
func isRepeatedCommand(failed *Error) bool {
	return slices.Contains(commandIsRepeated, failed.Reason) || failed.Code == codes.Unavailable
}
