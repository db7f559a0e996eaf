// Package holdfast is the client of Holdfast, a coordination server with locks,
// semaphores, leader election and autocomplete.
//
// A Client keeps all leases of the process in one session. The client renews them
// in the background, moves them to the next server if a server fails, and tells
// the work when a lease is lost:
//
//	hf, err := holdfast.Connect(ctx, []string{"127.0.0.1:50051"})
//	if err != nil {
//		return err
//	}
//	defer hf.Close(context.Background())
//
//	err = hf.Lock("report").Do(ctx, func(ctx context.Context, l *holdfast.Lease) error {
//		return writeReport(ctx, l.FencingToken()) // ctx ends if the lease is lost
//	})
//
// The process believes in a lease until its deadline on the own monotonic clock,
// and never longer. Heartbeats of the client go on while the work itself hangs:
// WithMaxHold loses the lease of such work, and Lease.Check compares the deadline with the clock
// before each step.
package holdfast
