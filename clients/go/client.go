package holdfast

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// A Client keeps all leases of this process. Make one with Connect, and use it for
// all goroutines. Do not use a Client of another process.
type Client struct {
	engine *engine
	calls  *calls
	limits *limits
	tracer Tracer
}

// Connect opens a session with one of the servers, which share one store, and
// waits for its first answer until ctx ends, at most 10 s. Addresses are
// "host:port"; an element may be a list of them with commas, as an environment
// variable has it. A name may mean several servers: it is looked up anew for each
// connection, and each of its addresses has its turn. If a server fails, the client goes
// on with the next address. ctx has no effect after Connect has returned. Errors: ErrUnavailable, ErrCredential
// (also if a token would go without TLS), ErrInvalidRequest, and the error of ctx.
func Connect(ctx context.Context, addresses []string, options ...Option) (*Client, error) {
	// A nil ctx panics here, before anything has begun.
	if ctx.Err() != nil {
		return nil, gaveUp(ctx, "connecting")
	}
	addresses, err := splitAddresses(addresses)
	if err != nil {
		return nil, err
	}
	set := newSettings(options)
	if err := set.check(); err != nil {
		return nil, err
	}
	if err := refuseTokenWithoutTLS(addresses, set); err != nil {
		return nil, err
	}
	limit := set.connect
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	c := &Client{
		engine: newEngine(addresses, set, limit, openStream, monotonicNow),
		calls:  newCalls(addresses, set),
		tracer: set.tracer,
	}
	c.limits = newLimits(c.calls, c.engine.notes)
	if err := c.engine.connected(ctx, set.connect); err != nil {
		_ = c.Close(canceled())
		return nil, err
	}
	return c, nil
}

// splitAddresses returns all addresses. An element may have several addresses, separated
// by commas.
func splitAddresses(lists []string) ([]string, error) {
	var addresses []string
	for _, list := range lists {
		for _, address := range strings.Split(list, ",") {
			address = strings.TrimSpace(address)
			if !isHostAndPort(address) {
				return nil, fmt.Errorf("holdfast: an address must be \"host:port\", not %q in %q", address, list)
			}
			addresses = append(addresses, address)
		}
	}
	if len(addresses) == 0 {
		return nil, errors.New("holdfast: Connect needs at least one address")
	}
	return addresses, nil
}

// isHostAndPort says whether a server can have the address. A URL would be tried again and
// again, with errors that do not name the mistake.
func isHostAndPort(address string) bool {
	host, text, err := net.SplitHostPort(address)
	if err != nil || host == "" || strings.ContainsAny(host, "/ ") {
		return false
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// Close ends all waits, releases all leases, and closes the connections. It leaves no
// goroutine and no socket. A lease that is held then is lost with CauseClosed, so end
// the work first. Close cancels functions that run under a lease, and releases their
// leases after their ends. All this takes until ctx ends, at most 5 s. An error says
// that leases are left to the ends of their ttl, because no answer came or a function
// ignores its context. Close does not wait for a function that has lost its lease already.
// A process that ends without Close leaves all its leases so.
func (c *Client) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := c.engine.close(ctx)
	c.calls.close()
	return err
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
