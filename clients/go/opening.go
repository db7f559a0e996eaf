package holdfast

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// connected waits for the first answer of a server.
func (e *engine) connected(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-e.ready:
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.failure != nil {
			return e.failure
		}
		return nil
	case <-timer.C:
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.lastErr != nil && e.lastErr.class() != ErrUnavailable {
			return e.lastErr
		}
		if e.isFetching && e.tokens.source != nil {
			return noAnswer("no server was asked in time: the token source has not answered", e.lastErr)
		}
		return noAnswer("no server answered in time", e.lastErr)
	case <-ctx.Done():
		return gaveUp(ctx, "connecting")
	}
}

func (e *engine) sessionStarted(s *session) {
	e.failures, e.refusals = 0, 0
	e.hasStarted = true
	e.lastErr = nil
	e.tellReady()
	e.notes.add(slog.LevelInfo, "session started", "address", s.server.String(), "session", s.number)
}

func (e *engine) sessionLeaving(s *session, delay time.Duration) {
	e.notes.add(slog.LevelInfo, "the server asks the client to leave", "address", s.server.String(), "delay", delay)
	if s == e.current {
		e.openAfter(delay)
	}
}

// sessionQuiet is called when each command has its answer and each lease has
// ended in the session.
func (e *engine) sessionQuiet(s *session) {
	if _, ok := e.retired[s]; ok {
		s.halfClose()
	}
}

func (e *engine) sessionEnded(s *session, err error, isSilent bool) {
	delete(e.retired, s)
	if s != e.current {
		return
	}
	e.current = nil
	if e.isClosed || (e.isClosing && s.isHalfClosed) {
		return
	}
	failed := errorOfCall(err)
	if isSilent {
		failed = noAnswer(s.server.String()+" is silent", nil)
	}
	e.notes.add(slog.LevelWarn, "session ended", "address", s.server.String(), "session", s.number, "error", failed)
	if !s.isStarted {
		e.failures++
	}
	e.lastErr = failed
	if e.isRefused(failed) {
		e.fail(failed)
		return
	}
	advised, _ := failed.RetryDelay()
	e.openAfter(e.pauseBeforeNext(advised))
}

// isRefused says whether a next session cannot help.
func (e *engine) isRefused(failed *Error) bool {
	switch {
	case e.hasStarted:
		// Credential, policy and servers were right once, and leases and waits are worth
		// the attempts.
		return false
	case slices.Contains(connectFails, failed.Reason):
		return true
	case failed.Reason == "" && failed.Code == codes.PermissionDenied:
		// A proxy gives no reason.
		return true
	case failed.Code == codes.Unauthenticated:
		e.refusals++
		return e.refusals > 1
	default:
		return failed.Code == codes.Unimplemented && e.failures >= e.servers.count()
	}
}

// fail tells all that waits. The deadlines of the held leases decide how long
// their work may go on.
func (e *engine) fail(failed *Error) {
	e.notes.add(slog.LevelWarn, "the servers refuse this client", "error", failed)
	e.failure = failed
	for in := range e.intents {
		e.forget(in)
		in.settle(nil, failed)
	}
	e.tellReady()
	e.tellEmpty()
}

func (e *engine) tellReady() {
	if !e.isReady {
		e.isReady = true
		close(e.ready)
	}
}

func (e *engine) pauseBeforeNext(advised time.Duration) time.Duration {
	return pauseBeforeSession(e.failures, advised, e.leases.nearestDeadline().until(e.now()))
}

func (e *engine) openAfter(delay time.Duration) {
	if !e.isFetching && !e.isEnding {
		e.openTimer.Reset(delay)
	}
}

// openNext is called by the timer. It opens the next session with a token and
// certificates of this moment.
func (e *engine) openNext() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isFetching || e.isEnding {
		return
	}
	e.isFetching = true
	e.goroutines.Add(1)
	go func() {
		defer e.goroutines.Done()
		ctx, cancel := context.WithTimeout(e.ctx, tokenTimeout)
		defer cancel()
		token, err := e.tokens.fetch(ctx)
		by := admission{token: token.Value}
		if err == nil {
			// The older session keeps the leases while a file of a certificate is replaced.
			by.credentials, err = e.settings.transport.credentials()
		}
		var server target
		var left int
		if err == nil {
			server, left = e.servers.next(e.ctx)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.isFetching = false
		if e.isEnding {
			return
		}
		if err != nil {
			e.notOpened(err)
			return
		}
		e.openSession(token, by, server, left)
	}()
}

// notOpened plans another attempt, which may find the token or the certificate.
func (e *engine) notOpened(err error) {
	e.failures++
	e.lastErr = errorOfCall(err)
	e.notes.add(slog.LevelWarn, "the next session cannot be opened", "error", err)
	e.openAfter(e.pauseBeforeNext(0))
}

// openSession opens a session with the server, which is one of so many that are left to try.
func (e *engine) openSession(token Token, by admission, server target, left int) {
	e.sessionCount++
	s := newSession(e, server, &holdfastv1.SessionStart{
		ClientId:      e.clientID,
		SessionNumber: e.sessionCount,
		HolderId:      e.settings.holderID,
		Metadata:      e.settings.metadata,
	})
	if !e.hasStarted {
		s.plan.timeout = shareOfConnect(e.connectUntil.until(e.now()), left)
		s.planHeartbeat()
	}
	previous := e.current
	e.current = s
	e.watchToken(token, s)
	e.moveTo(s)
	e.goroutines.Add(1)
	go s.run(by)
	if previous == nil {
		return
	}
	// The previous session renews the leases until the next one has them.
	e.retired[previous] = struct{}{}
	if len(previous.owners) == 0 {
		previous.halfClose()
	}
}

// moveTo sends attaches first, the earliest deadline first, then releases and
// acquires. All this comes before new acquires.
func (e *engine) moveTo(s *session) {
	for _, l := range e.leases.byDeadline() {
		if !l.isOver() {
			e.attach(l, s)
		}
	}
	for _, task := range e.releases {
		task.place(s)
	}
	intents := make([]*intent, 0, len(e.intents))
	for in := range e.intents {
		intents = append(intents, in)
	}
	slices.SortFunc(intents, func(a, b *intent) int { return int(a.seq - b.seq) })
	for _, in := range intents {
		e.place(in, s)
	}
}
