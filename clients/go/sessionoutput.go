package holdfast

import (
	"google.golang.org/protobuf/proto"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// write sends one message after the other, so that few messages lie in memory.
func (s *session) write(w wire, done chan<- struct{}) {
	defer close(done)
	for {
		select {
		case <-s.wakeWriter:
		case <-s.ctx.Done():
			return
		}
		for {
			s.e.mu.Lock()
			request := s.nextRequest()
			isLast := s.isHalfClosed && request == nil
			s.e.mu.Unlock()
			if isLast {
				_ = w.CloseSend()
				return
			}
			if request == nil {
				break
			}
			// The reader hears why a send fails.
			if w.Send(request) != nil {
				return
			}
		}
	}
}

// planHeartbeat sets the timer. A shorter ttl needs earlier heartbeats.
func (s *session) planHeartbeat() {
	if s.isClosed || s.isHalfClosed {
		return
	}
	ttl := s.e.leases.shortestTTL()
	at := never
	// The writer plans the next heartbeat when it sends this one.
	if sent, ok := s.record.lastSentAt(); ok && !s.isHeartbeatDue {
		at = sent.add(s.plan.period(ttl))
	}
	if since, ok := s.waitingSince(); ok {
		at = min(at, s.plan.judgeAt(since, ttl))
	}
	s.plannedAt = at
	s.timer.Reset(max(0, at.until(s.e.now())))
}

// waitingSince returns the time since which the server owes an answer.
func (s *session) waitingSince() (instant, bool) {
	if !s.isStarted {
		return s.openedAt, true
	}
	if since, ok := s.record.unansweredSince(); ok {
		return since, true
	}
	// A server that does not read keeps the heartbeat from being sent.
	return s.dueSince, s.isHeartbeatDue
}

func (s *session) timerFired() {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.isClosed {
		return
	}
	if s.isHalfClosed {
		s.leave()
		return
	}
	now, ttl := s.e.now(), s.e.leases.shortestTTL()
	if s.plan.woke(s.plannedAt, now, ttl) {
		s.e.checkDeadlines()
	}
	if since, ok := s.waitingSince(); ok && now >= s.plan.judgeAt(since, ttl) {
		s.leave()
		return
	}
	sent, ok := s.record.lastSentAt()
	if ok && !s.isHeartbeatDue && now >= sent.add(s.plan.period(ttl)) {
		s.isHeartbeatDue, s.dueSince = true, now
		s.wake()
	}
	s.planHeartbeat()
}

func (s *session) wake() {
	select {
	case s.wakeWriter <- struct{}{}:
	default:
	}
}

// nextRequest returns nil if nothing is due.
func (s *session) nextRequest() *holdfastv1.OpenSessionRequest {
	if s.isClosed {
		return nil
	}
	commands := s.nextCommands()
	if s.start == nil && !s.isHeartbeatDue && len(commands) == 0 {
		return nil
	}
	request := &holdfastv1.OpenSessionRequest{Start: s.start, Commands: commands}
	if s.start != nil || s.isHeartbeatDue {
		// The clock is read before the message is passed to the gRPC library.
		request.HeartbeatId = s.record.send(s.e.now())
		s.start, s.isHeartbeatDue = nil, false
		s.planHeartbeat()
	}
	return request
}

func (s *session) nextCommands() []*holdfastv1.SessionCommand {
	bytes, count := 0, 0
	for _, command := range s.queue {
		if count >= s.maxCommands {
			break
		}
		isAttach := command.GetAttach() != nil
		if isAttach && len(s.attaches) >= maxAttachesUnanswered {
			break
		}
		bytes += proto.Size(command) + 8
		if count > 0 && float64(bytes) > float64(s.maxBytes)*commandsShare {
			break
		}
		if isAttach {
			s.attaches[command.GetCommandId()] = struct{}{}
		}
		count++
	}
	commands := s.queue[:count:count]
	s.queue = s.queue[count:]
	if len(s.queue) == 0 {
		s.queue = nil
	}
	return commands
}
