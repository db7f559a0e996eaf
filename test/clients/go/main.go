// Reads Holdfast's errors with the usual helpers of a Go program. See ../clients.slow.test.ts.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// The names of the codes, as Java and Python print them.
var codeNames = map[codes.Code]string{
	codes.Aborted:            "ABORTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.InvalidArgument:    "INVALID_ARGUMENT",
	codes.NotFound:           "NOT_FOUND",
}

func main() {
	var err error
	if os.Args[1] == "frozen" {
		err = frozen(os.Args[2], os.Args[3], os.Args[4], os.Args[5])
	} else {
		err = run(os.Args[1], os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(target, name string) error {
	connection, err := grpc.Dial(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	client := holdfastv1.NewLockServiceClient(connection)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	held, err := client.AcquireLock(ctx, &holdfastv1.AcquireLockRequest{
		Name:     name,
		Ttl:      durationpb.New(30 * time.Second),
		HolderId: "alice",
		Metadata: map[string]string{"language": "go"},
	})
	if err != nil {
		return err
	}
	lease := held.GetLease()
	fmt.Println("granted:", lease.GetName(), lease.GetTtl().AsDuration() == 30*time.Second, lease.GetFencingToken() > 0)

	var trailer metadata.MD
	_, err = client.AcquireLock(ctx, &holdfastv1.AcquireLockRequest{
		Name:        name,
		WaitTimeout: durationpb.New(0),
	}, grpc.Trailer(&trailer))
	printError(err, trailer)

	_, err = client.AcquireLock(ctx, &holdfastv1.AcquireLockRequest{
		Ttl:       durationpb.New(-time.Second),
		RequestId: "1",
	}, grpc.Trailer(&trailer))
	printError(err, trailer)

	released, err := client.ReleaseLock(ctx, &holdfastv1.ReleaseLockRequest{LeaseId: lease.GetLeaseId()})
	if err != nil {
		return err
	}
	fmt.Println("released:", released.GetReleased())
	return semaphoreRound(ctx, holdfastv1.NewSemaphoreServiceClient(connection), name)
}

func semaphoreRound(ctx context.Context, client holdfastv1.SemaphoreServiceClient, name string) error {
	var trailer metadata.MD
	_, err := client.AcquirePermits(ctx, &holdfastv1.AcquirePermitsRequest{Name: name}, grpc.Trailer(&trailer))
	printError(err, trailer)

	held, err := client.AcquirePermits(ctx, &holdfastv1.AcquirePermitsRequest{
		Name:         name,
		PermitCount:  proto.Int32(2),
		InitialLimit: proto.Int32(3),
	})
	if err != nil {
		return err
	}
	fmt.Println("permits:", held.GetLease().GetName(), held.GetLease().GetPermitCount())

	_, err = client.AcquirePermits(ctx, &holdfastv1.AcquirePermitsRequest{
		Name:        name,
		PermitCount: proto.Int32(5),
	}, grpc.Trailer(&trailer))
	printError(err, trailer)

	_, err = client.SetSemaphoreLimit(ctx, &holdfastv1.SetSemaphoreLimitRequest{
		Name:          name,
		Limit:         proto.Int32(0),
		ExpectedLimit: proto.Int32(4),
	}, grpc.Trailer(&trailer))
	printError(err, trailer)

	released, err := client.ReleasePermits(ctx, &holdfastv1.ReleasePermitsRequest{LeaseId: held.GetLease().GetLeaseId()})
	if err != nil {
		return err
	}
	fmt.Println("released:", released.GetReleased())
	return nil
}

func printError(err error, trailer metadata.MD) {
	received, _ := status.FromError(err)
	fmt.Println("code:", codeNames[received.Code()])
	fmt.Println("message:", received.Message())
	for _, word := range trailer.Get("holdfast-reason") {
		fmt.Println("trailer:", word)
	}
	for _, detail := range received.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			fmt.Println("reason:", detail.GetReason(), detail.GetDomain())
			for key, value := range detail.GetMetadata() {
				fmt.Printf("metadata: %s=%s\n", key, value)
			}
		case *errdetails.RetryInfo:
			fmt.Println("retry:", detail.GetRetryDelay().AsDuration().Milliseconds())
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				fmt.Printf("violation: %s %s\n", violation.GetField(), violation.GetDescription())
			}
		default:
			fmt.Printf("unknown detail: %v\n", detail)
		}
	}
}
