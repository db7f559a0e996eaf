// Command leader shows the leader of an election. With a value it also campaigns,
// leads until a signal, and then resigns.
package main

import (
	"context"
	"flag"
	"fmt"

	"golang.org/x/sync/errgroup"
	holdfast "holdfast.dev/go"
	"holdfast.dev/go/examples/internal/example"
)

var (
	value = flag.String("value", "", "what the others see of this leader; without it the program only observes")
	ttl   = example.Millis("ttl-ms", 10_000, "the time after which another process can lead if this one is killed")
)

func main() {
	example.Exit(example.UntilSignal(run))
}

func run(stop context.Context, name string) error {
	hf, err := holdfast.Connect(stop, example.Servers(), holdfast.WithHolderID(*value))
	if err != nil {
		return err
	}
	defer hf.Close(context.Background())
	election := hf.Election(name, holdfast.WithTTL(*ttl))
	group, ctx := errgroup.WithContext(stop) // ends with the first error, too
	group.Go(func() error { return observe(ctx, election) })
	if *value != "" {
		group.Go(func() error { return lead(ctx, election) })
	}
	return group.Wait()
}

func observe(ctx context.Context, election *holdfast.Election) error {
	for leader, err := range election.Observe(ctx) {
		switch {
		case err != nil:
			return err
		case leader.Exists():
			fmt.Printf("leader: %s under token %d\n", leader.Value, leader.FencingToken)
		default:
			fmt.Println("leader: none")
		}
	}
	return nil
}

func lead(ctx context.Context, election *holdfast.Election) error {
	err := election.Lead(ctx, *value, func(ctx context.Context, lease *holdfast.Lease) error {
		fmt.Println("elected under token", lease.FencingToken())
		<-ctx.Done() // a signal, or the loss of the lead
		return nil
	})
	if err == nil {
		fmt.Println("resigned")
	}
	return example.Told(err)
}
