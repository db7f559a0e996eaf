package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	holdfast "holdfast.dev/go"
)

// The tests of this file need a server: SERVER_UNDER_TEST=127.0.0.1:50051.

func connect(t *testing.T, options ...holdfast.Option) (context.Context, *holdfast.Client) {
	t.Helper()
	address := os.Getenv("SERVER_UNDER_TEST")
	if address == "" {
		t.Skip("SERVER_UNDER_TEST names no server")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	options = append([]holdfast.Option{holdfast.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}, options...)
	hf, err := holdfast.Connect(ctx, []string{address}, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hf.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return ctx, hf
}

func uniqueName(t *testing.T) string {
	return fmt.Sprintf("%s-%x", t.Name(), rand.Uint64())
}

func TestDoHoldsTheLockWhileTheFunctionRuns(t *testing.T) {
	ctx, hf := connect(t)
	lock := hf.Lock(uniqueName(t), holdfast.WithTTL(5*time.Second))
	err := lock.Do(ctx, func(ctx context.Context, l *holdfast.Lease) error {
		if l.FencingToken() <= 0 || ctx.Err() != nil || l.Remaining() > 5*time.Second {
			t.Errorf("token %d, context %v, remaining %v", l.FencingToken(), ctx.Err(), l.Remaining())
		}
		_, ok, err := lock.TryAcquire(ctx)
		if ok || err != nil {
			t.Errorf("a held lock was acquired: %v, %v", ok, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lease, ok, err := lock.TryAcquire(ctx)
	if !ok || err != nil {
		t.Fatalf("the lock was not released: %v, %v", ok, err)
	}
	if released, err := lease.Release(ctx); !released || err != nil {
		t.Errorf("released %v, error %v", released, err)
	}
	var lost *holdfast.LeaseLostError
	if err := lease.Check(); !errors.As(err, &lost) || lost.Cause != holdfast.CauseReleased {
		t.Errorf("a released lease says %v", err)
	}
}

func TestAcquireWithAWaitEndsContended(t *testing.T) {
	ctx, hf := connect(t, holdfast.WithHolderID("worker-1"))
	name := uniqueName(t)
	held, err := hf.Lock(name).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var queued []holdfast.QueuePlace
	_, err = hf.Lock(name, holdfast.WithWait(200*time.Millisecond), holdfast.WithQueueNotice(func(p holdfast.QueuePlace) {
		queued = append(queued, p)
	})).Acquire(ctx)
	var failed *holdfast.Error
	if !errors.Is(err, holdfast.ErrContended) || !errors.As(err, &failed) || failed.HolderID() != "worker-1" {
		t.Errorf("error %v", err)
	}
	if len(queued) == 0 || queued[0].Position != 1 || queued[0].HolderID != "worker-1" {
		t.Errorf("queued %v", queued)
	}
	if _, err := held.Release(ctx); err != nil {
		t.Error(err)
	}
}

func TestTheEndOfTheContextEndsAWait(t *testing.T) {
	ctx, hf := connect(t)
	lock := hf.Lock(uniqueName(t))
	if _, err := lock.Acquire(ctx); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := lock.Acquire(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestSharedLocksAndPermitsAreHeldTogether(t *testing.T) {
	ctx, hf := connect(t)
	name := uniqueName(t)
	for range 2 {
		if _, ok, err := hf.Lock(name, holdfast.Shared()).TryAcquire(ctx); !ok || err != nil {
			t.Fatalf("shared lock: %v, %v", ok, err)
		}
	}
	if _, ok, err := hf.Lock(name).TryAcquire(ctx); ok || err != nil {
		t.Errorf("exclusive lock beside shared ones: %v, %v", ok, err)
	}
	lease, err := hf.Semaphore(name, holdfast.WithLimit(3), holdfast.WithPermits(2)).Acquire(ctx)
	if err != nil || lease.Permits() != 2 {
		t.Fatalf("permits %v, error %v", lease, err)
	}
	if _, ok, err := hf.Semaphore(name, holdfast.WithPermits(2)).TryAcquire(ctx); ok || err != nil {
		t.Errorf("4 permits of 3: %v, %v", ok, err)
	}
	if _, err := hf.Semaphore(name, holdfast.WithPermits(5)).Acquire(ctx); !errors.Is(err, holdfast.ErrNeverFits) {
		t.Errorf("error %v", err)
	}
	if _, err := hf.Semaphore(uniqueName(t)).Acquire(ctx); !errors.Is(err, holdfast.ErrNoSuchSemaphore) {
		t.Errorf("error %v", err)
	}
}

func TestARefusedRequestNamesItsFields(t *testing.T) {
	ctx, hf := connect(t)
	_, err := hf.Lock("", holdfast.WithTTL(time.Hour)).Acquire(ctx)
	var failed *holdfast.Error
	if !errors.Is(err, holdfast.ErrInvalidRequest) || !errors.As(err, &failed) || len(failed.Violations) != 2 {
		t.Errorf("error %v", err)
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := goroutines()
	ctx, hf := connect(t)
	for i := range 50 {
		if _, err := hf.Lock(fmt.Sprint(uniqueName(t), i)).Acquire(ctx); err != nil {
			t.Fatal(err)
		}
	}
	dictionary := hf.Dictionary(uniqueName(t))
	if _, err := dictionary.Create(ctx, holdfast.Profile{}); err != nil {
		t.Fatal(err)
	}
	if _, err := dictionary.TypeAhead().Suggest(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	observed := make(chan error)
	go func() {
		for leader, err := range hf.Election(uniqueName(t)).Observe(ctx) {
			if err != nil || !leader.Exists() {
				observed <- err
			}
		}
	}()
	if err := <-observed; err != nil {
		t.Fatal(err)
	}
	go func() { _ = hf.Close(ctx) }()
	if err := <-observed; !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("Observe ended with %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); goroutines() > before; {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// goroutines counts those of the client and of the gRPC library.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	count := 0
	for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "grpc") || strings.Contains(stack, "holdfast.dev/go.") {
			count++
		}
	}
	return count
}
