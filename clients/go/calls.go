package holdfast

import (
	"cmp"
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// calls makes the calls outside of the session, on a connection of their own, to
// one of several servers.
type calls struct {
	servers   *servers
	transport transport
	tokens    *tokens
	tracer    Tracer
	// ctx ends when the client is closed.
	ctx        context.Context
	cancel     context.CancelFunc
	goroutines sync.WaitGroup // of the TypeAheads and of work in the background

	mu      sync.Mutex
	current *connection
}

// A connection is closed when the client has left it and its last call has ended.
type connection struct {
	*grpc.ClientConn
	users  int
	isLeft bool
	// silentSince is the start of the first call since the last answer. Zero: there
	// is none.
	silentSince time.Time
}

func newCalls(addresses []string, set settings) *calls {
	c := &calls{transport: set.transport, tokens: set.tokens, tracer: set.tracer}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.servers = newServers(c.ctx, addresses)
	return c
}

// acquire returns the connection to the current server. The caller releases it.
func (c *calls) acquire(ctx context.Context) (*connection, error) {
	if conn, err := c.open(nil); conn != nil || err != nil {
		return conn, err
	}
	server, _ := c.servers.next(ctx)
	return c.open(&server)
}

// open returns the current connection, or a new one to the server. nil: there is neither.
func (c *calls) open(server *target) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if c.current == nil {
		if server == nil {
			return nil, nil
		}
		shown, err := c.transport.credentials()
		if err != nil {
			return nil, err
		}
		cc, err := dial(*server, shown, callKeepalive)
		if err != nil {
			return nil, err
		}
		c.current = &connection{ClientConn: cc}
	}
	c.current.users++
	return c.current, nil
}

func (c *calls) release(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn.users--
	c.closeIfUnused(conn)
}

// asked takes note of a question to the server.
func (c *calls) asked(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.silentSince.IsZero() {
		conn.silentSince = time.Now()
	}
}

// answered takes note of an answer of the server.
func (c *calls) answered(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn.silentSince = time.Time{}
}

// failed takes note of a failed call or stream. Later calls leave a broken
// connection, unless other calls have left it already.
func (c *calls) failed(conn *connection, failed *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isLate(failed) {
		// The caller's own short time limit says little about the server.
		if conn.silentSince.IsZero() || time.Since(conn.silentSince) < callSilence {
			return
		}
	}
	conn.silentSince = time.Time{}
	if conn == c.current && isBroken(failed) {
		c.leaveCurrent()
	}
}

func (c *calls) leaveCurrent() {
	c.current.isLeft = true
	c.closeIfUnused(c.current)
	c.current = nil
}

func (c *calls) closeIfUnused(conn *connection) {
	if conn.isLeft && conn.users == 0 {
		_ = conn.Close()
	}
}

func (c *calls) close() {
	c.mu.Lock()
	c.cancel()
	if c.current != nil {
		c.leaveCurrent()
	}
	c.mu.Unlock()
	c.goroutines.Wait()
}

// begin runs work in the background. Its context ends when the client is closed.
func (c *calls) begin(work func(context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	c.goroutines.Add(1)
	go func() {
		defer c.goroutines.Done()
		work(c.ctx)
	}()
}

// join returns a context that also ends when the client is closed.
func (c *calls) join(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// authorized returns a context that adds a token to its calls. Waits for the token
// for at most 10 s.
func (c *calls) authorized(ctx context.Context) (context.Context, error) {
	limited, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	token, err := c.tokens.fetch(limited)
	if err != nil {
		return nil, err
	}
	return withToken(ctx, token.Value), nil
}

// failure returns the error of a call for a caller with the context ctx.
func (c *calls) failure(ctx context.Context, what string, err error) error {
	switch {
	case ctx.Err() != nil:
		return gaveUp(ctx, what)
	case c.ctx.Err() != nil:
		return ErrClosed
	default:
		return errorOfCall(err)
	}
}

// An operation is one unary call.
type operation[Response any] struct {
	// method is the name of the method, and name that of the resource.
	method, name string
	// limit is the longest time of the call, attempts included. 0: 10 s.
	limit time.Duration
	// isCounted: a second run does harm, so the call is repeated only if the server
	// has not carried it out.
	isCounted bool
	run       func(context.Context, grpc.ClientConnInterface) (Response, error)
}

// call repeats the operation at the next server where a repetition helps, within
// its time limit.
func call[Response any](ctx context.Context, c *calls, op operation[Response]) (response Response, err error) {
	ctx, end := c.tracer(ctx, op.method, op.name)
	defer func() { end(err) }()
	until := time.Now().Add(cmp.Or(op.limit, callTimeout))
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	joined, cancel := c.join(ctx)
	defer cancel()
	joined, cancelLimit := context.WithDeadline(joined, until)
	defer cancelLimit()
	repeated := repetition{isCounted: op.isCounted}
	for {
		response, wasSent, err := once(joined, c, op, until)
		if err == nil {
			return response, nil
		}
		if hasEnded(ctx) || c.ctx.Err() != nil {
			return response, c.failure(ctx, op.method, err)
		}
		failed := errorOfCall(err)
		pause, again := repeated.pauseAfter(failed, wasSent)
		if !again || time.Until(until) <= pause {
			return response, failed
		}
		sleep(joined, pause)
	}
}

// hasEnded compares the deadline with the clock, and waits for the end of a context
// after its deadline.
func hasEnded(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// once makes one attempt. wasSent is false if it has failed before it reached the
// network.
func once[Response any](
	ctx context.Context, c *calls, op operation[Response], until time.Time,
) (response Response, wasSent bool, err error) {
	authorized, err := c.authorized(ctx)
	if err != nil {
		return response, false, err
	}
	conn, err := c.acquire(ctx)
	if err != nil {
		return response, false, err
	}
	defer c.release(conn)
	attempt, cancel := context.WithTimeout(authorized, attemptTime(time.Until(until), op.isCounted))
	defer cancel()
	c.asked(conn)
	response, err = op.run(attempt, conn)
	if err != nil {
		c.failed(conn, errorOfCall(err))
	} else {
		c.answered(conn)
	}
	return response, true, err
}

func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
