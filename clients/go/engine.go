package holdfast

import (
	"context"
	"sync"
	"time"
)

// An engine keeps all leases of this process, over one session after the other.
// A broken session ends no lease: the next session attaches to the leases, and
// their deadlines decide how long the process may believe in them.
//
// One mutex guards the engine, its sessions, its leases and all that waits. It is
// never held while a function of the user runs.
type engine struct {
	settings settings
	servers  *servers
	open     openWire
	tokens   *tokens
	now      func() instant
	notes    *notebook
	clientID string
	// connectUntil is the end of the time in which Connect waits.
	connectUntil instant
	// ctx ends when the engine is closed.
	ctx    context.Context
	cancel context.CancelFunc
	// goroutines counts the goroutines of sessions.
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
	// hasStarted: a server has served this client once.
	hasStarted bool
	isClosing  bool
	// isEnding: all work has ended, so no further session is opened.
	isEnding bool
	isClosed bool
	// failure: the servers have refused the first session, so Connect fails with this
	// error.
	failure *Error
	// lastErr: why no session lasts. nil: a session has started.
	lastErr *Error
	// ready is closed by the first response of a server, or by a failure.
	ready   chan struct{}
	isReady bool

	leases heldLeases
	// intents are the acquires without an answer, also those that nobody waits for.
	intents map[*intent]struct{}
	// abandoned has the intents that nobody waits for, the earliest first, and some
	// that have ended.
	abandoned      []*intent
	abandonedCount int
	lastSeq        int64
	releases       map[string]*release
	// bodies has the leases with a running function of the user.
	bodies map[*heldLease]struct{}
	// heldTooLong has the leases after the end of their maximal hold. Their work may
	// still run, so they are released later.
	heldTooLong map[*heldLease]struct{}
	timers      map[*time.Timer]struct{}
	// closed is closed at the end of close.
	closed chan struct{}
	// empty is closed when the closing engine has no work left. nil before.
	empty chan struct{}
}

func newEngine(
	addresses []string, set settings, connect time.Duration, open openWire, now func() instant,
) *engine {
	e := &engine{
		settings: set,
		open:     open,
		tokens:   set.tokens,
		now:      now,
		notes:    &notebook{logger: set.logger},
		clientID: newUUID(),
		retired:  map[*session]struct{}{},
		ready:    make(chan struct{}),
		leases:   newHeldLeases(),
		intents:  map[*intent]struct{}{},
		releases: map[string]*release{},
		bodies:   map[*heldLease]struct{}{},
		timers:   map[*time.Timer]struct{}{},

		connectUntil: now().add(connect),
		heldTooLong:  map[*heldLease]struct{}{},
		closed:       make(chan struct{}),
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.servers = newServers(e.ctx, addresses)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.openTimer = time.AfterFunc(0, e.openNext)
	return e
}

// close ends the belief in all leases and all waits, releases the leases, waits for
// the answers until ctx ends, and ends the session. It leaves no goroutine, no
// timer and no socket.
func (e *engine) close(ctx context.Context) error {
	e.mu.Lock()
	if e.isClosing {
		e.mu.Unlock()
		select {
		case <-e.closed:
			return nil
		case <-ctx.Done():
			return noAnswer("another call still closes the client", nil)
		}
	}
	e.isClosing = true
	defer close(e.closed)
	empty := make(chan struct{})
	e.empty = empty
	for in := range e.intents {
		e.abandon(in, ErrClosed)
	}
	for _, l := range e.leases.byDeadline() {
		l.end(CauseClosed)
		e.releaseIdle(l)
	}
	for l := range e.heldTooLong {
		e.releaseIdle(l)
	}
	e.leaveLostBodies()
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
	e.notes.flush(ctx)
	return err
}

// leaveLostBodies keeps close from waiting for work that had lost its lease before, and
// that may ignore the end of its context.
func (e *engine) leaveLostBodies() {
	for l := range e.bodies {
		if lost := l.loss(); lost == nil || lost.Cause != CauseClosed {
			delete(e.bodies, l)
		}
	}
}

// releaseIdle releases a lease of the closing client. A release never comes before
// the end of the work.
func (e *engine) releaseIdle(l *heldLease) {
	if _, works := e.bodies[l]; !works {
		e.releaseLease(l)
	}
}

// endSession half-closes the session, and waits for its end.
func (e *engine) endSession(ctx context.Context) {
	// The context may be that of work under a lease, which needs the mutex.
	isLate := ctx.Err() != nil
	e.mu.Lock()
	e.isEnding = true
	s := e.current
	if s == nil || !s.isStarted || isLate {
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
	for timer := range e.timers {
		timer.Stop()
	}
	e.timers = nil
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
		e.forget(in)
		in.settle(nil, err)
	}
	for _, task := range e.releases {
		task.settle(nil, err)
	}
}
