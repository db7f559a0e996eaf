package holdfast

import (
	"context"
	"time"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

type suggestStream struct {
	holdfastv1.AutocompleteService_SuggestStreamClient
	connection *connection
	broken     chan error // one item
	// read is closed when nobody reads the stream any more.
	read chan struct{}
}

// converse sends the queries of one stream, to its end. wasSent is false if it has
// failed before it reached the network.
func (t *TypeAhead) converse() (wasSent bool, err error) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	authorized, err := t.calls.authorized(ctx)
	if err != nil {
		return false, err
	}
	conn, err := t.calls.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer t.calls.release(conn)
	stream := &suggestStream{connection: conn, broken: make(chan error, 1), read: make(chan struct{})}
	t.calls.asked(conn)
	// The first attempt to connect has the time of the query.
	opening := time.AfterFunc(t.attemptOfLatest(), cancel)
	stream.AutocompleteService_SuggestStreamClient, err =
		holdfastv1.NewAutocompleteServiceClient(conn).SuggestStream(authorized)
	opening.Stop()
	if err == nil {
		go t.read(stream)
		defer func() {
			cancel()
			<-stream.read
		}()
		err = t.sendQueries(stream)
	} else if ctx.Err() != nil && t.ctx.Err() == nil {
		err = silentStream()
	}
	t.calls.failed(conn, errorOfCall(err))
	return true, err
}

func (t *TypeAhead) sendQueries(stream *suggestStream) error {
	for {
		q, err := t.due(stream)
		if err != nil {
			return err
		}
		t.calls.asked(stream.connection)
		// The reader hears why a send fails.
		_ = stream.Send(&holdfastv1.SuggestStreamRequest{
			QueryId: q.id, Suggest: t.settings.request(t.dictionary, q.text),
		})
	}
}

func (t *TypeAhead) read(stream *suggestStream) {
	defer close(stream.read)
	for {
		response, err := stream.Recv()
		if err != nil {
			stream.broken <- err
			return
		}
		t.calls.answered(stream.connection)
		t.mu.Lock()
		if t.latest != nil && t.latest.id == response.GetQueryId() {
			t.answered(response)
		}
		t.mu.Unlock()
	}
}
