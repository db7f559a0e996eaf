// Package example has what the programs share: their command line and their exit
// codes.
package example

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	holdfast "holdfast.dev/go"
)

var servers = flag.String("servers", "127.0.0.1:50051", "the addresses of the servers, with commas")

// ErrStopped: the program stopped its work because others may do the same work. It
// has already said so.
var ErrStopped = errors.New("the work was stopped")

// Name parses the command line: a name, and then the options of package flag. Ends
// the program with exit code 2 if it cannot.
func Name() string {
	flag.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: %s NAME [--option VALUE]...\n", os.Args[0])
		flag.PrintDefaults()
	}
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		flag.Usage()
		os.Exit(2)
	}
	_ = flag.CommandLine.Parse(os.Args[2:]) // ends the program after an error
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	return os.Args[1]
}

// Servers returns the addresses of the servers. Call Name before.
func Servers() []string {
	return []string{*servers} // the client splits the list
}

// Holder defines the option --holder, with the name and the number of the process as its
// default.
func Holder(program string) *string {
	return flag.String("holder", fmt.Sprintf("%s-%d", program, os.Getpid()), "what others see of this process")
}

// Millis defines an option with a time in milliseconds.
func Millis(option string, value int, usage string) *time.Duration {
	duration := time.Duration(value) * time.Millisecond
	flag.Func(option, fmt.Sprintf("%s (default %d)", usage, value), func(text string) error {
		parsed, err := time.ParseDuration(text + "ms")
		duration = parsed
		return err
	})
	return &duration
}

// UntilSignal calls run with a context that ends at Ctrl-C and SIGTERM. A second signal
// ends the program at once, because its last work may hang.
func UntilSignal(run func(stop context.Context, name string) error) error {
	name := Name()
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(stop, cancel)
	return run(stop, name)
}

// Pause waits, and returns the cause if ctx ends before.
func Pause(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Told prints the loss of a lease, and returns ErrStopped for it. Call Told before
// Close, which may wait 5 s for a server that does not answer.
func Told(err error) error {
	var lost *holdfast.LeaseLostError
	if !errors.As(err, &lost) {
		return err
	}
	fmt.Printf("lease lost: %s, stopping\n", lost.Cause)
	return ErrStopped
}

// Exit ends the program: 0 after its work or a signal, 3 after a loss, 1 after
// another error.
func Exit(err error) {
	switch {
	case errors.Is(err, ErrStopped):
		os.Exit(3)
	case err != nil && !errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "failed:", err)
		os.Exit(1)
	}
}
