package holdfast

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// ServerInfo describes the server that answered. Servers of one store may differ.
type ServerInfo struct {
	// Version is a semantic version.
	Version string
	// Features has the names of the features, for example SHARED_LOCKS. See Feature
	// in server_service.proto.
	Features []string
	// MinTTL, MaxTTL and DefaultTTL are for WithTTL.
	MinTTL, MaxTTL, DefaultTTL time.Duration
	// MaxWaiterCount is the maximum number of waiters of one name.
	MaxWaiterCount int
	// StoreState is READY, UNREACHABLE, UNSUITABLE or QUARANTINED.
	StoreState string
	// StoreWarnings has one sentence for the operator for each problem.
	StoreWarnings []string
}

// Call makes one idempotent unary call of the contract, for what this package does not
// offer. It repeats run at the next server where a repetition helps, for at most 10 s:
//
//	err := hf.Call(ctx, func(ctx context.Context, cc grpc.ClientConnInterface) (err error) {
//		answer, err = holdfastv1.NewSemaphoreServiceClient(cc).GetSemaphore(ctx, request)
//		return err
//	})
func (c *Client) Call(ctx context.Context, run func(context.Context, grpc.ClientConnInterface) error) error {
	if run == nil {
		return invalidOption("the function", "must not be nil")
	}
	_, err := call(ctx, c.calls, operation[struct{}]{
		method: "Call",
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (struct{}, error) {
			return struct{}{}, run(ctx, cc)
		},
	})
	return err
}

// ServerInfo asks one server about itself.
func (c *Client) ServerInfo(ctx context.Context) (ServerInfo, error) {
	info, err := call(ctx, c.calls, operation[*holdfastv1.GetServerInfoResponse]{
		method: "GetServerInfo",
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.GetServerInfoResponse, error) {
			return holdfastv1.NewServerServiceClient(cc).GetServerInfo(ctx, &holdfastv1.GetServerInfoRequest{})
		},
	})
	if err != nil {
		return ServerInfo{}, err
	}
	var features []string
	for _, feature := range info.GetFeatures() {
		features = append(features, strings.TrimPrefix(feature.String(), "FEATURE_"))
	}
	return ServerInfo{
		Version:        info.GetVersion(),
		Features:       features,
		MinTTL:         info.GetMinTtl().AsDuration(),
		MaxTTL:         info.GetMaxTtl().AsDuration(),
		DefaultTTL:     info.GetDefaultTtl().AsDuration(),
		MaxWaiterCount: int(info.GetMaxWaiterCount()),
		StoreState:     strings.TrimPrefix(info.GetStoreState().String(), "STORE_STATE_"),
		StoreWarnings:  info.GetStoreWarnings(),
	}, nil
}
