package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	holdfast "holdfast.dev/go"
)

var (
	ctx = context.Background()
	hf  *holdfast.Client
)

func Example() {
	ctx := context.Background()
	hf, err := holdfast.Connect(ctx, []string{"127.0.0.1:50051"})
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	err = hf.Lock("report").Do(ctx, func(ctx context.Context, l *holdfast.Lease) error {
		fmt.Println("the report is written under token", l.FencingToken())
		return ctx.Err() // ctx ends if the lease is lost
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleLock_Do() {
	steps := []string{"read", "write"}
	lock := hf.Lock("report", holdfast.WithTTL(30*time.Second), holdfast.WithWait(5*time.Minute))
	err := lock.Do(ctx, func(ctx context.Context, l *holdfast.Lease) error {
		for _, step := range steps {
			if err := l.Check(); err != nil {
				return err
			}
			fmt.Println(step, "under token", l.FencingToken())
		}
		return nil
	})
	var lost *holdfast.LeaseLostError
	switch {
	case errors.As(err, &lost):
		log.Print("others may have the lock: ", lost.Cause)
	case errors.Is(err, holdfast.ErrContended):
		log.Print("somebody else is at work")
	case err != nil:
		log.Print(err)
	}
}

func ExampleLock_Acquire() {
	lease, err := hf.Lock("report").Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release(ctx)
	work, cancel := lease.WithContext(ctx)
	defer cancel()
	<-work.Done()
	fmt.Println(context.Cause(work)) // why the lease is over
}

func ExampleLock_TryAcquire() {
	lease, ok, err := hf.Lock("report").TryAcquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if !ok {
		return // somebody else is at work
	}
	defer lease.Release(ctx)
}

func ExampleSemaphore_Do() {
	gpus := hf.Semaphore("gpu", holdfast.WithLimit(8), holdfast.WithPermits(2))
	err := gpus.Do(ctx, func(ctx context.Context, l *holdfast.Lease) error {
		fmt.Println("training with", l.Permits(), "of 8")
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}

func ExampleElection_Observe() {
	for leader, err := range hf.Election("scheduler").Observe(ctx) {
		switch {
		case err != nil:
			log.Print(err)
		case leader.Exists():
			fmt.Println(leader.Value, "leads")
		default:
			fmt.Println("nobody leads")
		}
	}
}

func ExampleTypeAhead_Type() {
	field := hf.Dictionary("cities").TypeAhead(holdfast.WithRecents("user-7"))
	defer field.Close()
	answers := make(chan (<-chan holdfast.TypeAheadAnswer))
	go func() {
		defer close(answers)
		for _, typed := range []string{"b", "be", "ber"} { // the keystrokes, in their order
			answers <- field.Type(typed)
		}
	}()
	for next := range answers {
		answer := <-next
		if errors.Is(answer.Err, holdfast.ErrSuperseded) {
			continue // a newer query has come
		}
		for _, s := range answer.Suggestions {
			fmt.Println(s.Text)
		}
	}
}
