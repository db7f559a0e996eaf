package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	holdfast "holdfast.dev/go"
	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// The commands of the benchmarks. No case uses them.
func init() {
	handlers["bench_pairs"] = (*driver).benchPairs
	handlers["bench_stub_pairs"] = (*driver).benchStubPairs
	handlers["bench_hold"] = (*driver).benchHold
	handlers["bench_settle"] = (*driver).benchSettle
}

var bench struct {
	mu   sync.Mutex
	stub holdfastv1.LockServiceClient
	held []*holdfast.Lease
}

// inFlight calls work for each index below the count of the command, with in_flight calls
// at once. worker numbers the calls at one time.
func inFlight(ctx context.Context, c command, work func(ctx context.Context, index, worker int) error) (result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for worker := range c.InFlight {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for ctx.Err() == nil {
				index := int(next.Add(1)) - 1
				if index >= c.Count {
					return
				}
				if err := work(ctx, index, worker); err != nil {
					stop(err)
				}
			}
		}()
	}
	workers.Wait()
	return ok(), context.Cause(ctx)
}

// benchPairs acquires and releases. Each worker has a lock of its own.
func (d *driver) benchPairs(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	return inFlight(ctx, c, func(ctx context.Context, _, worker int) error {
		lease, err := hf.Lock(fmt.Sprint(c.Name, "-", worker)).Acquire(ctx)
		if err != nil {
			return err
		}
		_, err = lease.Release(ctx)
		return err
	})
}

// benchStubPairs does the same with the bare generated stub over one connection.
func (d *driver) benchStubPairs(ctx context.Context, c command) (result, error) {
	stub, err := benchStub(c.Addresses[0])
	if err != nil {
		return nil, err
	}
	return inFlight(ctx, c, func(ctx context.Context, _, worker int) error {
		name := fmt.Sprint(c.Name, "-", worker)
		answer, err := stub.AcquireLock(ctx, &holdfastv1.AcquireLockRequest{Name: name})
		if err != nil {
			return err
		}
		_, err = stub.ReleaseLock(ctx, &holdfastv1.ReleaseLockRequest{LeaseId: answer.GetLease().GetLeaseId()})
		return err
	})
}

func benchStub(address string) (holdfastv1.LockServiceClient, error) {
	bench.mu.Lock()
	defer bench.mu.Unlock()
	if bench.stub == nil {
		connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		bench.stub = holdfastv1.NewLockServiceClient(connection)
	}
	return bench.stub, nil
}

// benchHold acquires locks, and keeps the leases.
func (d *driver) benchHold(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	return inFlight(ctx, c, func(ctx context.Context, index, _ int) error {
		lease, err := hf.Lock(fmt.Sprint(c.Name, "-", index)).Acquire(ctx)
		if err != nil {
			return err
		}
		bench.mu.Lock()
		defer bench.mu.Unlock()
		bench.held = append(bench.held, lease)
		return nil
	})
}

// benchSettle collects garbage, returns its memory, and counts the leases that are valid.
func (d *driver) benchSettle(context.Context, command) (result, error) {
	debug.FreeOSMemory()
	bench.mu.Lock()
	defer bench.mu.Unlock()
	valid := 0
	for _, lease := range bench.held {
		if lease.Check() == nil {
			valid++
		}
	}
	return result{"held": valid}, nil
}
