// Command worker holds a lock, and works in steps. Each step is a write to a
// protected store, with the fencing token of the lease.
package main

import (
	"context"
	"flag"
	"fmt"

	holdfast "holdfast.dev/go"
	"holdfast.dev/go/examples/internal/example"
)

var (
	holder = example.Holder("worker")
	ledger = flag.String("ledger", "http://127.0.0.1:8080", "the address of the protected store")
	ttl    = example.Millis("ttl-ms", 10_000, "the time after which the lock of a killed process is free")
	pause  = example.Millis("step-ms", 1000, "the pause between two steps")
)

func main() {
	example.Exit(example.UntilSignal(run))
}

// run waits for the lock, and works until stop ends.
func run(stop context.Context, name string) error {
	hf, err := holdfast.Connect(stop, example.Servers(), holdfast.WithHolderID(*holder))
	if err != nil {
		return err
	}
	defer hf.Close(context.Background())
	lock := hf.Lock(name, holdfast.WithTTL(*ttl), holdfast.WithQueueNotice(func(p holdfast.QueuePlace) {
		fmt.Printf("queued: place %d of %d\n", p.Position, p.WaiterCount)
	}))
	err = lock.Do(stop, func(ctx context.Context, lease *holdfast.Lease) error {
		return work(ctx, lease, *ledger+"/"+name)
	})
	if err == nil {
		fmt.Println("released")
	}
	return example.Told(err)
}

// work takes steps until ctx ends, by a signal or by the loss of the lease.
func work(ctx context.Context, lease *holdfast.Lease, store string) error {
	// A signal does not end a write in progress. A loss does.
	writing, cancel := lease.WithContext(context.WithoutCancel(ctx))
	defer cancel()
	token := lease.FencingToken()
	fmt.Println("granted: token", token)
	for step := 1; ctx.Err() == nil; step++ {
		if err := lease.Check(); err != nil { // compares the clock: this process may have been stopped
			return err
		}
		if err := write(writing, store, token, fmt.Sprintf("%s: step %d", *holder, step)); err != nil {
			return err
		}
		fmt.Printf("step %d under token %d\n", step, token)
		_ = example.Pause(ctx, *pause) // the loop ends with ctx
	}
	return nil
}
