// Command pool runs jobs, each under one permit of a semaphore. Several processes
// share the permits. Those of a killed process come back after the ttl.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	holdfast "holdfast.dev/go"
	"holdfast.dev/go/examples/internal/example"
)

var (
	holder = example.Holder("pool")
	jobs   = flag.Int("jobs", 6, "the number of jobs")
	limit  = flag.Int("limit", 2, "the permits of a semaphore that does not exist yet")
	ttl    = example.Millis("ttl-ms", 10_000, "the time after which the permits of a killed process are free")
	length = example.Millis("job-ms", 1000, "the time of a job")
)

func main() {
	example.Exit(run(context.Background(), example.Name()))
}

func run(ctx context.Context, name string) error {
	hf, err := holdfast.Connect(ctx, example.Servers(), holdfast.WithHolderID(*holder))
	if err != nil {
		return err
	}
	defer hf.Close(context.Background())
	permits := hf.Semaphore(name, holdfast.WithLimit(*limit), holdfast.WithTTL(*ttl))
	var lostJobs atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for job := 1; job <= *jobs; job++ {
		group.Go(func() error {
			err := permits.Do(ctx, func(ctx context.Context, lease *holdfast.Lease) error {
				return work(ctx, lease, job)
			})
			var lost *holdfast.LeaseLostError
			if errors.As(err, &lost) {
				fmt.Printf("%s: job %d lost its permit: %s\n", *holder, job, lost.Cause)
				lostJobs.Add(1)
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Printf("%s: %d jobs done\n", *holder, int64(*jobs)-lostJobs.Load())
	if lostJobs.Load() > 0 {
		return example.ErrStopped
	}
	return nil
}

func work(ctx context.Context, lease *holdfast.Lease, job int) error {
	fmt.Printf("%s: job %d begins under token %d\n", *holder, job, lease.FencingToken())
	if err := example.Pause(ctx, *length); err != nil {
		return err // the loss of the permit, or another job has failed
	}
	if err := lease.Check(); err != nil { // compares the clock: this process may have been stopped
		return err
	}
	fmt.Printf("%s: job %d ends\n", *holder, job)
	return nil
}
