package holdfast

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// blackHole is the address of a server that accepts connections and never answers.
func blackHole(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// A productServer answers watches and queries, each with the next error first.
type productServer struct {
	holdfastv1.UnimplementedLockServiceServer
	holdfastv1.UnimplementedAutocompleteServiceServer
	watchErrors []error
	queryErrors []*holdfastv1.SuggestError
}

func (s *productServer) WatchLock(
	_ *holdfastv1.WatchLockRequest, stream holdfastv1.LockService_WatchLockServer,
) error {
	if len(s.watchErrors) > 0 {
		err := s.watchErrors[0]
		s.watchErrors = s.watchErrors[1:]
		return err
	}
	holder := &holdfastv1.Holder{FencingToken: 1, Metadata: map[string]string{valueKey: "b"}}
	err := stream.Send(&holdfastv1.WatchLockResponse{Lock: &holdfastv1.Lock{Holders: []*holdfastv1.Holder{holder}}})
	<-stream.Context().Done()
	return err
}

func (s *productServer) SuggestStream(
	stream holdfastv1.AutocompleteService_SuggestStreamServer,
) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		response := &holdfastv1.SuggestStreamResponse{QueryId: request.GetQueryId()}
		if len(s.queryErrors) > 0 {
			response.Result = &holdfastv1.SuggestStreamResponse_Error{Error: s.queryErrors[0]}
			s.queryErrors = s.queryErrors[1:]
		} else {
			response.Result = &holdfastv1.SuggestStreamResponse_Suggestions{Suggestions: &holdfastv1.SuggestResponse{
				Suggestions: []*holdfastv1.Suggestion{{Text: request.GetSuggest().GetQuery()}},
			}}
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

func (s *productServer) start(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	holdfastv1.RegisterLockServiceServer(server, s)
	holdfastv1.RegisterAutocompleteServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// overloaded is an error with the details of a server.
func overloaded() error {
	s, err := status.New(codes.ResourceExhausted, "no").WithDetails(
		&errdetails.ErrorInfo{Domain: "holdfast", Reason: "OVERLOADED"},
	)
	if err != nil {
		panic(err)
	}
	return s.Err()
}

func electionOf(c *Client) *Election {
	c.engine = &engine{}
	return c.Election("scheduler")
}

func TestACallLeavesASilentServerAndTriesTheNextOne(t *testing.T) {
	t.Parallel()
	client := clientOf(t, blackHole(t), (&infoServer{version: "2"}).start(t))
	info, err := client.ServerInfo(context.Background())
	if err != nil || info.Version != "2" {
		t.Errorf("version %q, error %v", info.Version, err)
	}
}

func TestCallsWithShortTimeLimitsLeaveASilentServerToo(t *testing.T) {
	t.Parallel()
	client := clientOf(t, blackHole(t), (&infoServer{version: "2"}).start(t))
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		info, err := client.ServerInfo(ctx)
		cancel()
		if err == nil && info.Version == "2" {
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	t.Error("the calls stay with the silent server")
}

func TestAWatchLeavesASilentServerAndGoesOnAfterARefusalThatPasses(t *testing.T) {
	t.Parallel()
	server := &productServer{watchErrors: []error{
		status.Error(codes.DeadlineExceeded, "a proxy has no time"),
		overloaded(),
	}}
	for leader, err := range electionOf(clientOf(t, blackHole(t), server.start(t))).Observe(context.Background()) {
		if err != nil || leader.Value != "b" {
			t.Errorf("leader %v, error %v", leader, err)
		}
		break
	}
}

func TestATypeAheadLeavesASilentServerAndWaitsForTheDictionary(t *testing.T) {
	t.Parallel()
	server := &productServer{queryErrors: []*holdfastv1.SuggestError{{
		Code: int32(codes.Unavailable), Reason: holdfastv1.ErrorReason_ERROR_REASON_DICTIONARY_LOADING,
	}}}
	client := clientOf(t, blackHole(t), server.start(t))
	field := client.Dictionary("cities").TypeAhead()
	defer field.Close()
	found, err := field.Suggest(context.Background(), "ber")
	if err != nil || len(found) != 1 || found[0].Text != "ber" {
		t.Errorf("suggestions %v, error %v", found, err)
	}
}

func TestATypeAheadPassesOnAnErrorThatARepetitionDoesNotHelp(t *testing.T) {
	server := &productServer{queryErrors: []*holdfastv1.SuggestError{{
		Code: int32(codes.NotFound), Reason: holdfastv1.ErrorReason_ERROR_REASON_NO_SUCH_DICTIONARY,
	}}}
	field := clientOf(t, server.start(t)).Dictionary("cities").TypeAhead()
	defer field.Close()
	if _, err := field.Suggest(context.Background(), "ber"); !errors.Is(err, ErrNoSuchDictionary) {
		t.Errorf("error %v", err)
	}
	found, err := field.Suggest(context.Background(), "berl")
	if err != nil || len(found) != 1 {
		t.Errorf("suggestions %v, error %v", found, err)
	}
}

func TestATokenSourceThatFailsOnceDelaysACall(t *testing.T) {
	failures := 1
	set := newSettings([]Option{WithTokenSource(func(context.Context) (Token, error) {
		if failures > 0 {
			failures--
			return Token{}, errors.New("the vault is sealed")
		}
		return Token{Value: "fresh"}, nil
	})})
	client := &Client{calls: newCalls([]string{(&infoServer{version: "1"}).start(t)}, set)}
	defer client.calls.close()
	if info, err := client.ServerInfo(context.Background()); err != nil || info.Version != "1" {
		t.Errorf("version %q, error %v", info.Version, err)
	}
}
