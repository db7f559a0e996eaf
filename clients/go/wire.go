package holdfast

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// maxAnswerBytes is more than a page of 500 entries of the largest size.
const maxAnswerBytes = 16 << 20

// wire is one stream of OpenSession on a connection of its own.
type wire interface {
	Send(*holdfastv1.OpenSessionRequest) error
	Recv() (*holdfastv1.OpenSessionResponse, error)
	CloseSend() error
	// Close ends stream and connection.
	Close()
}

// admission is what a new session shows to its server.
type admission struct {
	token       string
	credentials credentials.TransportCredentials
}

// openWire opens a stream on a new connection. ctx ends the stream.
type openWire func(ctx context.Context, server target, by admission) (wire, error)

type grpcWire struct {
	holdfastv1.SessionService_OpenSessionClient
	connection *grpc.ClientConn
}

func openStream(ctx context.Context, server target, by admission) (wire, error) {
	// Each session has a connection of its own, so that other calls cannot delay
	// its heartbeats.
	connection, err := dial(server, by.credentials, 0)
	if err != nil {
		return nil, err
	}
	stream, err := holdfastv1.NewSessionServiceClient(connection).OpenSession(withToken(ctx, by.token))
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	return grpcWire{stream, connection}, nil
}

// dial returns a connection that is pinged after the time ping without data while it
// has calls. A session has its heartbeats instead: 0.
func dial(
	server target, shown credentials.TransportCredentials, ping time.Duration,
) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(shown),
		// The client repeats commands and calls itself.
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
		grpc.WithUnaryInterceptor(unaryErrors),
		grpc.WithStreamInterceptor(streamErrors),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswerBytes)),
	}
	if ping > 0 {
		options = append(options, grpc.WithKeepaliveParams(
			keepalive.ClientParameters{Time: ping, Timeout: callKeepaliveTimeout},
		))
	}
	if server.address == "" {
		return grpc.NewClient(server.given, options...)
	}
	// The certificate must be valid for the name, or for the one that the caller has set.
	if shown.Info().ServerName == "" {
		options = append(options, grpc.WithAuthority(server.given))
	}
	return grpc.NewClient("passthrough:///"+server.address, options...)
}

// Close ends stream and connection.
func (w grpcWire) Close() {
	_ = w.connection.Close()
}
