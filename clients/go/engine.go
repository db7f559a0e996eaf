package holdfast

import (
	"context"
	"log/slog"
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
	e.mu.Lock()
	defer e.mu.Unlock()
	e.openTimer = time.AfterFunc(0, e.openNext)
	return e
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
