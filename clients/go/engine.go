package holdfast

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// An engine keeps all leases of this process, over one session after the other.
// A broken session ends no lease: the next session attaches to the leases, and
// their deadlines decide how long the process may believe in them.
//
// One mutex guards the engine, its sessions, its leases and all that waits. It is
// never held while a function of the user runs.
type engine struct {
	settings  settings
	addresses []string
	open      openWire
	token     func(context.Context) (Token, error)
	now       func() instant
	log       *slog.Logger
	clientID  string
	// ctx ends when the engine is closed.
	ctx    context.Context
	cancel context.CancelFunc
	// goroutines counts the goroutines of sessions and of token sources.
	goroutines sync.WaitGroup

	mu sync.Mutex
	// current is the session that gets new commands. May be nil.
	current *session
	// retired has the earlier sessions that still renew leases.
	retired      map[*session]struct{}
	sessionCount int64
	failures     int // sessions in a row without a first response
	refusals     int // refused credentials in a row
	openTimer    *time.Timer
	tokenTimer   *time.Timer
	isFetching   bool
	isClosing    bool
	isClosed     bool
	// failure: the servers refuse this client. New work fails with this error until
	// a session has started.
	failure *Error
	lastErr *Error
	// ready is closed by the first response of a server, or by a failure.
	ready   chan struct{}
	isReady bool

	leases   heldLeases
	intents  map[*intent]struct{}
	lastSeq  int64
	releases map[string]*release
	// bodies has the leases with a running function of the user.
	bodies map[*Lease]context.CancelCauseFunc
	timers map[*time.Timer]struct{}
	// empty is closed when the closing engine has no work left. nil before.
	empty chan struct{}
}

func newEngine(addresses []string, set settings, open openWire, now func() instant) *engine {
	e := &engine{
		settings:  set,
		addresses: addresses,
		open:      open,
		token:     set.token,
		now:       now,
		log:       set.logger,
		clientID:  newUUID(),
		retired:   map[*session]struct{}{},
		ready:     make(chan struct{}),
		leases:    newHeldLeases(),
		intents:   map[*intent]struct{}{},
		releases:  map[string]*release{},
		bodies:    map[*Lease]context.CancelCauseFunc{},
		timers:    map[*time.Timer]struct{}{},
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.openTimer = time.AfterFunc(0, e.openNext)
	return e
}

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
		return noAnswer("no server answered in time", e.lastErr)
	case <-ctx.Done():
		return gaveUp(ctx, "connecting")
	}
}

// close releases all leases, ends all waits, waits for the answers until ctx
// ends, and ends the session. It leaves no goroutine, no timer and no socket.
func (e *engine) close(ctx context.Context) error {
	e.mu.Lock()
	if e.isClosing {
		e.mu.Unlock()
		return nil
	}
	e.isClosing = true
	empty := make(chan struct{})
	e.empty = empty
	for in := range e.intents {
		e.abandon(in, ErrClosed)
	}
	for _, l := range e.leases.byDeadline() {
		// The release never comes before the end of the work.
		if stop, runs := e.bodies[l]; runs {
			stop(ErrClosed)
		} else {
			e.releaseLease(l)
		}
	}
	e.tellEmpty()
	e.mu.Unlock()

	var err error
	select {
	case <-empty:
	case <-ctx.Done():
		err = noAnswer("leases are left to the ends of their ttl", nil)
	}
	e.endSession(ctx)
	e.shutDown()
	e.goroutines.Wait()
	return err
}

// endSession half-closes the session, and waits for its end.
func (e *engine) endSession(ctx context.Context) {
	e.mu.Lock()
	s := e.current
	if s == nil || !s.isStarted || ctx.Err() != nil {
		e.mu.Unlock()
		return
	}
	s.halfClose()
	e.mu.Unlock()
	select {
	case <-s.ctx.Done():
	case <-ctx.Done():
	}
}

func (e *engine) shutDown() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.isClosed = true
	e.cancel()
	e.openTimer.Stop()
	if e.tokenTimer != nil {
		e.tokenTimer.Stop()
	}
	if e.current != nil {
		e.current.leave()
	}
	for s := range e.retired {
		s.leave()
	}
	e.rejectWork(ErrClosed)
	for _, l := range e.leases.byDeadline() {
		l.end(CauseClosed)
	}
	for timer := range e.timers {
		timer.Stop()
	}
	e.timers = nil
}

func (e *engine) sessionStarted(s *session) {
	e.failures, e.refusals = 0, 0
	e.failure = nil
	e.tellReady()
	e.log.Debug("session started", "address", s.address, "session", s.number)
}

func (e *engine) sessionLeaving(s *session, delay time.Duration) {
	e.log.Info("the server asks the client to leave", "address", s.address, "delay", delay)
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
		failed = noAnswer(s.address+" is silent", nil)
	}
	e.log.Info("session ended", "address", s.address, "session", s.number, "error", failed)
	if !s.isStarted {
		e.failures++
	}
	e.lastErr = failed
	if e.isRefused(s, failed) {
		e.fail(failed)
		e.openAfter(longestBackoff)
		return
	}
	pause := e.pauseBeforeNext()
	if failed.Reason == "OVERLOADED" || failed.Reason == "QUOTA_EXCEEDED" {
		delay, _ := failed.RetryDelay()
		pause = max(pause, min(delay, longestBackoff))
	}
	e.openAfter(pause)
}

// isRefused says whether an immediate next session cannot help.
func (e *engine) isRefused(s *session, failed *Error) bool {
	switch {
	case failed.Reason == "INVALID_FIELD", failed.Reason == "NOT_ALLOWED":
		return true
	case failed.Code == codes.Unauthenticated && !s.isStarted:
		e.refusals++
		return e.refusals > 1
	default:
		return failed.Code == codes.Unimplemented && e.failures >= len(e.addresses)
	}
}

// fail tells all that waits. The deadlines of the held leases decide how long
// their work may go on.
func (e *engine) fail(failed *Error) {
	if e.failure == nil {
		e.log.Warn("the servers refuse this client", "error", failed)
	}
	e.failure = failed
	for in := range e.intents {
		delete(e.intents, in)
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

func (e *engine) pauseBeforeNext() time.Duration {
	return pauseBeforeSession(e.failures, e.leases.nearestDeadline().until(e.now()))
}

func (e *engine) openAfter(delay time.Duration) {
	if !e.isFetching && !e.isClosed {
		e.openTimer.Reset(delay)
	}
}

// openNext is called by the timer. It opens the next session after the token
// source has answered.
func (e *engine) openNext() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isFetching || e.isClosed {
		return
	}
	e.isFetching = true
	e.goroutines.Add(1)
	go func() {
		defer e.goroutines.Done()
		ctx, cancel := context.WithTimeout(e.ctx, connectTimeout)
		defer cancel()
		token, err := e.token(ctx)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.isFetching = false
		if e.isClosed {
			return
		}
		if err != nil {
			e.notOpened(err)
			return
		}
		e.openSession(token)
	}()
}

// notOpened plans another attempt, which may find the token.
func (e *engine) notOpened(err error) {
	e.failures++
	e.lastErr = noToken(err)
	e.log.Warn("the client has no token", "error", err)
	e.openAfter(e.pauseBeforeNext())
}

func (e *engine) openSession(token Token) {
	address := e.addresses[e.sessionCount%int64(len(e.addresses))]
	e.sessionCount++
	s := newSession(e, address, &holdfastv1.SessionStart{
		ClientId:      e.clientID,
		SessionNumber: e.sessionCount,
		HolderId:      e.settings.holderID,
		Metadata:      e.settings.metadata,
	})
	previous := e.current
	e.current = s
	e.watchToken(token, s)
	e.moveTo(s)
	e.goroutines.Add(1)
	go s.run(token.Value)
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

// watchToken opens the next session before the token ends.
func (e *engine) watchToken(token Token, s *session) {
	if e.tokenTimer != nil {
		e.tokenTimer.Stop()
		e.tokenTimer = nil
	}
	if token.ExpiresIn <= 0 {
		return
	}
	life := time.Duration(float64(token.ExpiresIn) * credentialLifeUsed)
	e.tokenTimer = time.AfterFunc(life, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if s == e.current {
			s.isLeaving = true
			e.openAfter(0)
		}
	})
}

// later calls run with the mutex, unless the engine is closed before. See
// stopTimer.
func (e *engine) later(delay time.Duration, run func()) *time.Timer {
	if e.isClosed {
		return nil
	}
	var timer *time.Timer
	timer = time.AfterFunc(delay, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		// A stopped timer may have fired already.
		if _, runs := e.timers[timer]; runs {
			delete(e.timers, timer)
			run()
		}
	})
	e.timers[timer] = struct{}{}
	return timer
}

// stopTimer stops a timer of later, which may be nil.
func (e *engine) stopTimer(timer *time.Timer) {
	if timer != nil {
		timer.Stop()
		delete(e.timers, timer)
	}
}

// checkDeadlines compares all deadlines with the clock, after this process was
// stopped.
func (e *engine) checkDeadlines() {
	for _, l := range e.leases.byDeadline() {
		l.isOver()
	}
}

// tellEmpty ends the wait of close.
func (e *engine) tellEmpty() {
	if e.empty != nil && len(e.intents) == 0 && len(e.releases) == 0 && len(e.bodies) == 0 {
		close(e.empty)
		e.empty = nil
	}
}

func (e *engine) rejectWork(err error) {
	for in := range e.intents {
		delete(e.intents, in)
		in.settle(nil, err)
	}
	for _, task := range e.releases {
		task.settle(nil, err)
	}
}
