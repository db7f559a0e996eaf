package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	holdfast "holdfast.dev/go"
)

type client struct {
	*holdfast.Client
}

func millis(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond))
}

func (d *driver) connect(ctx context.Context, c command) (result, error) {
	var options []holdfast.Option
	if c.HolderID != nil {
		options = append(options, holdfast.WithHolderID(*c.HolderID))
	}
	if c.Metadata != nil {
		options = append(options, holdfast.WithMetadata(c.Metadata))
	}
	if c.ConnectMs != nil {
		options = append(options, holdfast.WithConnectTimeout(millis(*c.ConnectMs)))
	}
	if c.TLS != nil {
		files := holdfast.TLSFiles{CA: c.TLS.CA, Cert: c.TLS.Cert, Key: c.TLS.Key}
		options = append(options, holdfast.WithTLSFiles(files),
			holdfast.WithTLS(&tls.Config{ServerName: c.TLS.ServerName}))
	}
	hf, err := holdfast.Connect(ctx, c.Addresses, append(options, credential(c)...)...)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.clients[c.Client] = &client{hf}
	d.mu.Unlock()
	return result{"connected": true}, nil
}

func credential(c command) []holdfast.Option {
	switch {
	case c.Token != nil:
		return []holdfast.Option{holdfast.WithToken(*c.Token)}
	case c.TokenFile != "":
		return []holdfast.Option{holdfast.WithTokenFile(c.TokenFile)}
	case len(c.Tokens) > 0:
		next := inTurn(c.Tokens)
		return []holdfast.Option{holdfast.WithTokenSource(func(context.Context) (holdfast.Token, error) {
			value := next()
			if value == nil {
				select {} // a callback that hangs
			}
			return holdfast.Token{Value: *value, ExpiresIn: millis(c.TokenExpiresInMs)}, nil
		})}
	default:
		return nil
	}
}

// inTurn returns the next token at each call, and the last one for ever.
func inTurn(tokens []*string) func() *string {
	var mu sync.Mutex
	return func() *string {
		mu.Lock()
		defer mu.Unlock()
		token := tokens[0]
		if len(tokens) > 1 {
			tokens = tokens[1:]
		}
		return token
	}
}

// client returns the client with the name of the command.
func (d *driver) client(c command) (*client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if hf := d.clients[c.Client]; hf != nil {
		return hf, nil
	}
	return nil, fmt.Errorf("there is no client %q", c.Client)
}

func (d *driver) close(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	if err := hf.Close(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return result{"closed": true}, nil
}

func (d *driver) serverInfo(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	info, err := hf.ServerInfo(ctx)
	return result{"version": info.Version, "features": info.Features}, err
}

var goroutinesAtStart, socketsAtStart int

func countAtStart() {
	goroutinesAtStart, socketsAtStart = runtime.NumGoroutine(), sockets()
}

// leaks counts the goroutines of the clients and the sockets. The goroutines of
// running commands do not count.
func (d *driver) leaks(context.Context, command) (result, error) {
	d.mu.Lock()
	commands := len(d.running)
	d.mu.Unlock()
	tasks := max(0, runtime.NumGoroutine()-goroutinesAtStart-commands-d.watching())
	return result{"tasks": tasks, "sockets": max(0, sockets()-socketsAtStart)}, nil
}

// sockets returns 0 on systems without /proc.
func sockets() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	count := 0
	for _, file := range files {
		target, err := os.Readlink("/proc/self/fd/" + file.Name())
		if err == nil && strings.HasPrefix(target, "socket:") {
			count++
		}
	}
	return count
}
