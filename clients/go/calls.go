package holdfast

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// calls makes the calls outside of the session, on a connection of their own, to
// one of several servers.
type calls struct {
	addresses []string
	dialer    dialer
	tokens    *tokens
	tracer    Tracer
	// ctx ends when the client is closed.
	ctx        context.Context
	cancel     context.CancelFunc
	goroutines sync.WaitGroup // of the TypeAheads

	mu      sync.Mutex
	current *connection
	index   int
}

// A connection is closed when the client has left it and its last call has ended.
type connection struct {
	*grpc.ClientConn
	users  int
	isLeft bool
}

func newCalls(addresses []string, set settings, d dialer) *calls {
	c := &calls{addresses: addresses, dialer: d, tokens: set.tokens, tracer: set.tracer}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// acquire returns the connection to the current server. The caller releases it.
func (c *calls) acquire() (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if c.current == nil {
		cc, err := c.dialer.dial(c.addresses[c.index%len(c.addresses)])
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

// leave sends later calls to the next server. Without effect if other calls have
// already left the server.
func (c *calls) leave(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn == c.current {
		c.leaveCurrent()
	}
}

func (c *calls) leaveCurrent() {
	c.current.isLeft = true
	c.closeIfUnused(c.current)
	c.current = nil
	c.index++
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

// join returns a context that also ends when the client is closed.
func (c *calls) join(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// authorized returns a context that adds a token to its calls.
func (c *calls) authorized(ctx context.Context) (context.Context, error) {
	token, err := c.tokens.fetch(ctx)
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
	// isCounted: a second run does harm, so the call is repeated only if the server
	// has not carried it out.
	isCounted bool
	run       func(context.Context, grpc.ClientConnInterface) (Response, error)
}

// call repeats the operation at the next server where a repetition helps, for at
// most 10 s.
func call[Response any](ctx context.Context, c *calls, op operation[Response]) (response Response, err error) {
	ctx, end := c.tracer(ctx, op.method, op.name)
	defer func() { end(err) }()
	limit := time.Now().Add(callTimeout)
	joined, cancel := c.join(ctx)
	defer cancel()
	joined, cancelLimit := context.WithDeadline(joined, limit)
	defer cancelLimit()
	refusals := 0
	for attempts := 1; ; attempts++ {
		conn, err := c.acquire()
		if err != nil {
			return response, c.failure(ctx, op.method, err)
		}
		response, err = once(joined, c, conn, op)
		c.release(conn)
		if err == nil {
			return response, nil
		}
		if ctx.Err() != nil || c.ctx.Err() != nil {
			return response, c.failure(ctx, op.method, err)
		}
		failed := errorOfCall(err)
		pause := pauseBeforeRepeat(attempts, failed.retryDelay)
		if slices.Contains(credentialIsFetchedOnceMore, failed.Reason) {
			refusals++
			if refusals > 1 {
				return response, failed
			}
			pause = 0
		} else if !isRepeatedCall(failed, op.isCounted) {
			return response, failed
		}
		if failed.Code == codes.Unavailable {
			c.leave(conn)
		}
		if time.Until(limit) <= pause {
			return response, failed
		}
		sleep(joined, pause)
	}
}

func once[Response any](
	ctx context.Context, c *calls, conn *connection, op operation[Response],
) (response Response, err error) {
	authorized, err := c.authorized(ctx)
	if err != nil {
		return response, err
	}
	return op.run(authorized, conn)
}

// isRepeatedCall: a broken connection has no reason.
func isRepeatedCall(failed *Error, isCounted bool) bool {
	if slices.Contains(callIsRepeated, failed.Reason) {
		return true
	}
	if isCounted || failed.Code != codes.Unavailable {
		return false
	}
	return failed.Reason == "" || slices.Contains(idempotentCallIsRepeated, failed.Reason)
}

func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
