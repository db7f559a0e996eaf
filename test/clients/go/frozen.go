package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// frozen opens a stream that holds a lock, a stream that waits for it, and a unary call that waits for it. It prints
// each event, and how each call ends. See ../frozen-link.slow.test.ts.
func frozen(target, name, holderID, waiterID string) error {
	connection, err := grpc.Dial(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	client := holdfastv1.NewLockServiceClient(connection)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	var calls sync.WaitGroup
	run := func(label string, call func() (metadata.MD, error)) {
		calls.Add(1)
		go func() {
			defer calls.Done()
			trailer, err := call()
			printEnd(label, trailer, err)
		}()
	}
	opened := make(chan struct{}, 2)
	hold := func(label, requestID string) {
		run(label, func() (metadata.MD, error) {
			stream, err := client.HoldLock(ctx, &holdfastv1.HoldLockRequest{
				Start: &holdfastv1.HoldLockRequest_Acquire{Acquire: &holdfastv1.AcquireLockRequest{
					Name: name, RequestId: requestID, Ttl: durationpb.New(30 * time.Second),
				}},
			})
			if err != nil {
				return nil, err
			}
			for first := true; ; first = false {
				if _, err := stream.Recv(); err != nil {
					return stream.Trailer(), err
				}
				if first {
					opened <- struct{}{}
				}
			}
		})
		<-opened
	}
	hold("holder", holderID)
	hold("waiter", waiterID)
	run("unary", func() (metadata.MD, error) {
		var trailer metadata.MD
		_, err := client.AcquireLock(ctx, &holdfastv1.AcquireLockRequest{
			Name: name, WaitTimeout: durationpb.New(50 * time.Second),
		}, grpc.Trailer(&trailer))
		return trailer, err
	})
	calls.Wait()
	return nil
}

func printEnd(label string, trailer metadata.MD, err error) {
	received, _ := status.FromError(err)
	code := received.Code().String()
	if received.Code() == codes.Unavailable {
		code = "UNAVAILABLE"
	}
	reason := "none"
	for _, word := range trailer.Get("holdfast-reason") {
		reason = word
	}
	fmt.Printf("%s: %s %s | %s\n", label, code, reason, received.Message())
}
