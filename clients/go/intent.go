package holdfast

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// wanted says what is to be acquired.
type wanted struct {
	name     string
	isLock   bool
	mode     holdfastv1.LockMode
	permits  *int
	limit    *int
	ttl      time.Duration
	wait     *time.Duration
	maxHold  time.Duration
	metadata map[string]string
	onQueued func(QueuePlace)
}

// grant is the answer to an intent.
type grant struct {
	lease *Lease
	err   error
}

// An intent is the wish to hold one lease. It is repeated by the same request id
// in each next session, until it has an answer.
type intent struct {
	wanted
	e         *engine
	seq       int64
	startedAt instant
	requestID string
	// hasSecondID: the lease of the first id ended unseen.
	hasSecondID bool
	// home is the latest session that was sent the command. An older session does
	// not speak for the intent.
	home      *session
	commandID int64
	attempts  int // failed attempts in a row
	lastErr   *Error
	// lease is set by the grant.
	lease *Lease
	// isAbandoned: the caller does not want the lease any more. A late grant is
	// released.
	isAbandoned bool
	isSettled   bool
	answer      chan grant      // one item
	queued      chan QueuePlace // the latest place
}

func (in *intent) settle(l *Lease, err error) {
	if !in.isSettled {
		in.isSettled = true
		in.answer <- grant{l, err}
	}
}

// takeNewID takes a new request id, because the lease of the old one has ended
// unseen. False: that has happened before.
func (in *intent) takeNewID() bool {
	if in.hasSecondID || in.isAbandoned {
		return false
	}
	in.hasSecondID = true
	in.requestID = newUUID()
	return true
}

func (in *intent) command() *holdfastv1.SessionCommand {
	var ttl, wait *durationpb.Duration
	if in.ttl > 0 {
		ttl = durationpb.New(in.ttl)
	}
	if in.wait != nil {
		waited := in.e.now() - in.startedAt
		wait = durationpb.New(max(0, *in.wait-time.Duration(waited)))
	}
	if in.isLock {
		return &holdfastv1.SessionCommand{Command: &holdfastv1.SessionCommand_AcquireLock{
			AcquireLock: &holdfastv1.AcquireLockRequest{
				Name: in.name, RequestId: in.requestID, Ttl: ttl, WaitTimeout: wait,
				Metadata: in.metadata, Mode: in.mode,
			},
		}}
	}
	request := &holdfastv1.AcquirePermitsRequest{
		Name: in.name, RequestId: in.requestID, Ttl: ttl, WaitTimeout: wait, Metadata: in.metadata,
	}
	if in.permits != nil {
		request.PermitCount = proto.Int32(int32(*in.permits))
	}
	if in.limit != nil {
		request.InitialLimit = proto.Int32(int32(*in.limit))
	}
	return &holdfastv1.SessionCommand{
		Command: &holdfastv1.SessionCommand_AcquirePermits{AcquirePermits: request},
	}
}

func (in *intent) event(ev *holdfastv1.SessionEvent, r receipt, s *session) owner {
	switch event := ev.GetEvent().(type) {
	case *holdfastv1.SessionEvent_Queued:
		in.tellQueued(event.Queued)
	case *holdfastv1.SessionEvent_Granted:
		if event.Granted.GetLease() != nil {
			return in.e.granted(in, event.Granted.GetLease(), r, s, ev.GetCommandId())
		}
	case *holdfastv1.SessionEvent_Cancelled:
		delete(in.e.intents, in)
		in.settle(nil, ErrClosed)
		in.e.tellEmpty()
	case *holdfastv1.SessionEvent_Failed:
		in.e.acquireFailed(in, errorOfCommand(event.Failed), s)
	}
	return nil
}

// tellQueued replaces the place that the caller has not read.
func (in *intent) tellQueued(queued *holdfastv1.CommandQueued) {
	if in.onQueued == nil {
		return
	}
	select {
	case <-in.queued:
	default:
	}
	in.queued <- QueuePlace{
		Position:    int(queued.GetPosition()),
		WaiterCount: int(queued.GetWaiterCount()),
		HolderID:    queued.GetHolder().GetHolderId(),
	}
}

// acquire waits for the lease until ctx ends. Callers do not hold the mutex.
func (e *engine) acquire(ctx context.Context, w wanted) (*Lease, error) {
	what := fmt.Sprintf("waiting for %q", w.name)
	if ctx.Err() != nil {
		return nil, gaveUp(ctx, what)
	}
	in, err := e.begin(w)
	if err != nil {
		return nil, err
	}
	var late <-chan time.Time
	if w.wait != nil {
		timer := time.NewTimer(*w.wait + answerAfterWait)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case got := <-in.answer:
			return got.lease, got.err
		case place := <-in.queued:
			w.onQueued(place)
		case <-late:
			e.mu.Lock()
			e.abandon(in, noAnswer(fmt.Sprintf("no server answered while %s", what), in.lastErr))
			e.mu.Unlock()
			late = nil
		case <-ctx.Done():
			return nil, e.giveUp(in, gaveUp(ctx, what))
		}
	}
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
	switch {
	case e.isClosing:
		return nil, ErrClosed
	case e.failure != nil:
		return nil, e.failure
	case len(e.intents) >= maxAcquiresUnanswered:
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
	in.isAbandoned = true
	if in.home == nil {
		delete(e.intents, in)
		return
	}
	e.cancelCommand(in)
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
	delete(e.intents, in)
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
	if in.home != nil && in.home.number > s.number {
		// The repetition in a later session attaches to the lease, so only that
		// session speaks for the lease.
		l.home = in.home
	} else {
		l.settleIn(s, number)
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
	if isRepeatedCommand(failed) {
		in.attempts++
		// The next session sends the acquire again.
		if s.isLeaving && failed.Reason == "DRAINING" {
			return
		}
		e.later(pauseBeforeRepeat(in.attempts, failed.retryDelay), func() {
			if _, waits := e.intents[in]; waits && in.home == s {
				e.place(in, s)
			}
		})
		return
	}
	delete(e.intents, in)
	in.settle(nil, failed)
	e.tellEmpty()
}

// isRepeatedCommand says whether a repetition with the same id may help. An
// unknown reason is treated as its code says.
func isRepeatedCommand(failed *Error) bool {
	return slices.Contains(commandIsRepeated, failed.Reason) || failed.Code == codes.Unavailable
}
