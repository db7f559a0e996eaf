package holdfast

import (
	"time"

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
	isExact  bool // the limit is demanded
	ttl      time.Duration
	hasTTL   bool
	wait     *time.Duration
	maxHold  *time.Duration
	metadata map[string]string
	// isCandidate: the metadata has the value of a leader.
	isCandidate bool
	onQueued    func(QueuePlace)
}

// grant is the answer to an intent.
type grant struct {
	lease *heldLease
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
	// lastErr: why the latest attempt failed. nil after an answer that lets the intent
	// wait.
	lastErr *Error
	// isPausing: the latest attempt has failed, and the next one is not sent yet.
	isPausing bool
	// lease is set by the grant.
	lease *heldLease
	// isAbandoned: the caller does not want the lease any more. A late grant is
	// released.
	isAbandoned bool
	// forgetTimer ends an abandoned intent. nil before.
	forgetTimer *time.Timer
	isSettled   bool
	answer      chan grant      // one item
	queued      chan QueuePlace // the latest place
}

func (in *intent) settle(l *heldLease, err error) {
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

// isWorthAttempts says whether the intent is repeated after a passing error. Nobody
// waits for an abandoned one, but a lease may have been granted.
func (in *intent) isWorthAttempts(failed *Error) bool {
	return !in.isAbandoned || failed.Reason == "OUTCOME_UNKNOWN"
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
		in.lastErr = nil
		in.tellQueued(event.Queued)
	case *holdfastv1.SessionEvent_Granted:
		if event.Granted.GetLease() != nil {
			return in.e.granted(in, event.Granted.GetLease(), r, s, ev.GetCommandId())
		}
	case *holdfastv1.SessionEvent_Cancelled:
		in.e.forget(in)
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
