package holdfast

import (
	"context"
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// An owner hears the events of its command, and later of its lease. It returns
// the owner of the lease after granted. Without an owner the session forgets the
// command at its last event.
type owner interface {
	event(ev *holdfastv1.SessionEvent, r receipt, s *session) owner
}

// A leaseHolder hears the renewals of its lease too.
type leaseHolder interface {
	renewed(renewal *holdfastv1.LeaseRenewal, r receipt)
}

// A session is one stream: heartbeats, the order of commands, and whom an event
// concerns. Its fields and methods need the mutex of the engine, except run and
// write, which are its goroutines.
type session struct {
	e      *engine
	number int64
	server target
	// isStarted: the first response has come.
	isStarted bool
	// isLeaving: the server has asked the client to leave, so new acquires go to
	// the next session.
	isLeaving    bool
	isHalfClosed bool
	isClosed     bool

	record   heartbeatRecord
	plan     heartbeatPlan
	openedAt instant
	// start is nil after the first message.
	start          *holdfastv1.SessionStart
	isHeartbeatDue bool
	// dueSince is the time since which the writer has not taken the heartbeat.
	dueSince instant

	owners      map[int64]owner
	attaches    map[int64]struct{}
	queue       []*holdfastv1.SessionCommand
	lastCommand int64
	maxCommands int
	maxBytes    int

	timer     *time.Timer
	plannedAt instant
	// wakeWriter has an item if a message may be due.
	wakeWriter chan struct{}
	ctx        context.Context
	cancel     context.CancelFunc
}

func newSession(e *engine, server target, start *holdfastv1.SessionStart) *session {
	s := &session{
		e:           e,
		number:      start.GetSessionNumber(),
		server:      server,
		plan:        newHeartbeatPlan(),
		openedAt:    e.now(),
		start:       start,
		owners:      map[int64]owner{},
		attaches:    map[int64]struct{}{},
		maxCommands: maxCommandsInMessage,
		maxBytes:    maxMessageBytes,
		wakeWriter:  make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.timer = time.AfterFunc(time.Hour, s.timerFired)
	s.planHeartbeat()
	s.wake()
	return s
}

// run opens the stream, and reads it to its end.
func (s *session) run(by admission) {
	defer s.e.goroutines.Done()
	w, err := s.e.open(s.ctx, s.server, by)
	if err != nil {
		s.streamEnded(err)
		return
	}
	defer w.Close()
	written := make(chan struct{})
	go s.write(w, written)
	for {
		response, err := w.Recv()
		if err != nil {
			s.streamEnded(err)
			break
		}
		s.e.mu.Lock()
		s.read(response)
		s.e.mu.Unlock()
	}
	<-written
}

// send sends a command with the other commands of this moment. It returns the
// id of the command.
func (s *session) send(command *holdfastv1.SessionCommand, o owner) int64 {
	s.lastCommand++
	if s.isClosed || s.isHalfClosed {
		return s.lastCommand
	}
	command.CommandId = s.lastCommand
	s.queue = append(s.queue, command)
	if o != nil {
		s.owners[s.lastCommand] = o
	}
	s.wake()
	return s.lastCommand
}

// halfClose ends the stream in order. The server answers with the end of the
// stream.
func (s *session) halfClose() {
	if s.isClosed || s.isHalfClosed {
		return
	}
	s.isHalfClosed = true
	s.timer.Reset(halfCloseTimeout)
	s.wake()
}

// leave ends the stream without a word. The leases continue to the ends of their
// ttl.
func (s *session) leave() {
	s.finish(nil, true)
}

func (s *session) read(response *holdfastv1.OpenSessionResponse) {
	if s.isClosed {
		return
	}
	sent, ok := s.record.answer(response.GetHeartbeatId())
	if !ok {
		s.leave()
		return
	}
	if started := response.GetStarted(); started != nil && !s.isStarted {
		s.isStarted = true
		s.plan.started(started.GetHeartbeatTimeout().AsDuration())
		s.maxCommands = bound(s.maxCommands, int(started.GetMaxCommandCount()))
		s.maxBytes = bound(s.maxBytes, int(started.GetMaxMessageBytes()))
		s.e.sessionStarted(s)
	}
	if interval := response.GetHeartbeatInterval().AsDuration(); interval > 0 {
		s.plan.interval = interval
	}
	r := receipt{sent: sent, at: s.e.now()}
	for _, event := range response.GetEvents() {
		s.tell(event, r)
	}
	for _, renewal := range response.GetRenewals() {
		if holder, ok := s.owners[renewal.GetLeaseNumber()].(leaseHolder); ok {
			holder.renewed(renewal, r)
		}
	}
	if leaving := response.GetLeaving(); leaving != nil && !s.isLeaving {
		s.isLeaving = true
		s.e.sessionLeaving(s, leaving.GetRetryDelay().AsDuration())
	}
	s.planHeartbeat()
	if len(s.owners) == 0 {
		s.e.sessionQuiet(s)
	}
}

func bound(own, servers int) int {
	if servers <= 0 {
		return own
	}
	return min(own, servers)
}

func (s *session) tell(event *holdfastv1.SessionEvent, r receipt) {
	id := event.GetCommandId()
	o := s.owners[id]
	// A kind of event that this client does not know ends no command and no lease.
	if o == nil || event.GetEvent() == nil {
		return
	}
	if event.GetQueued() == nil && event.GetRenewalFailed() == nil {
		delete(s.owners, id)
		if _, ok := s.attaches[id]; ok {
			delete(s.attaches, id)
			s.wake()
		}
	}
	if next := o.event(event, r, s); next != nil {
		s.owners[id] = next
	}
}

// streamEnded takes the end of the stream from the reader.
func (s *session) streamEnded(err error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.finish(err, false)
}

func (s *session) finish(err error, isSilent bool) {
	if s.isClosed {
		return
	}
	s.isClosed = true
	s.timer.Stop()
	s.cancel()
	s.queue, s.owners = nil, nil
	s.e.sessionEnded(s, err, isSilent)
}
