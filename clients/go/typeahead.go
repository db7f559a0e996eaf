package holdfast

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A TypeAhead gives suggestions for an input field. One stream answers all
// keystrokes, and a newer query supersedes the older ones. Close it when the field
// is gone.
type TypeAhead struct {
	calls      *calls
	settings   suggestSettings
	dictionary string
	ctx        context.Context
	cancel     context.CancelFunc
	// wake has an item if there is a new query.
	wake chan struct{}
	done chan struct{}

	mu sync.Mutex
	// latest is the query without an answer, or nil.
	latest   *typedQuery
	lastID   int64
	failures int // broken streams in a row
}

type typedQuery struct {
	id      int64
	text    string
	typedAt time.Time
	// sentTo is the stream that was sent the query.
	sentTo *suggestStream
	answer chan typedAnswer // one item
}

type typedAnswer struct {
	suggestions []Suggestion
	err         error
}

type suggestStream struct {
	holdfastv1.AutocompleteService_SuggestStreamClient
	broken chan error // one item
	// read is closed when nobody reads the stream any more.
	read chan struct{}
}

// TypeAhead returns suggestions for an input field. See WithDebounce.
func (d *Dictionary) TypeAhead(options ...SuggestOption) *TypeAhead {
	t := &TypeAhead{
		calls:      d.calls,
		settings:   newSuggestSettings(options),
		dictionary: d.name,
		wake:       make(chan struct{}, 1),
		done:       make(chan struct{}),
	}
	t.ctx, t.cancel = context.WithCancel(d.calls.ctx)
	d.calls.mu.Lock()
	defer d.calls.mu.Unlock()
	if t.ctx.Err() != nil {
		close(t.done)
		return t
	}
	d.calls.goroutines.Add(1)
	go t.run()
	return t
}

// Suggest returns the suggestions for the text of the input field. ErrSuperseded: a
// newer query has come, so show nothing. If a server breaks, Suggest goes on with
// the next one for at most 10 s.
func (t *TypeAhead) Suggest(ctx context.Context, query string) ([]Suggestion, error) {
	q := &typedQuery{text: query, typedAt: time.Now(), answer: make(chan typedAnswer, 1)}
	t.mu.Lock()
	t.settle(typedAnswer{err: ErrSuperseded})
	if t.ctx.Err() != nil {
		t.mu.Unlock()
		return nil, ErrClosed
	}
	t.lastID++
	q.id = t.lastID
	t.latest = q
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
	limit := time.NewTimer(callTimeout)
	defer limit.Stop()
	select {
	case answer := <-q.answer:
		return answer.suggestions, answer.err
	case <-ctx.Done():
		t.forget(q)
		return nil, gaveUp(ctx, "suggestions")
	case <-limit.C:
		t.forget(q)
		return nil, noAnswer("no server answered the query in time", nil)
	}
}

// Close ends the stream. A query without an answer returns ErrClosed.
func (t *TypeAhead) Close() {
	t.cancel()
	<-t.done
}

// settle answers the latest query. It needs the mutex.
func (t *TypeAhead) settle(answer typedAnswer) {
	if t.latest != nil {
		t.latest.answer <- answer
		t.latest = nil
	}
}

func (t *TypeAhead) forget(q *typedQuery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest == q {
		t.latest = nil
	}
}

// run opens a stream for the first query, and another one after a break.
func (t *TypeAhead) run() {
	defer t.calls.goroutines.Done()
	defer close(t.done)
	for {
		_, err := t.due(nil)
		if err == nil {
			err = t.converse()
		}
		if t.ctx.Err() != nil {
			t.mu.Lock()
			t.settle(typedAnswer{err: ErrClosed})
			t.mu.Unlock()
			return
		}
		t.pauseAfter(errorOfCall(err))
	}
}

// pauseAfter pauses before the next stream, or answers the latest query with an
// error that a repetition does not help.
func (t *TypeAhead) pauseAfter(failed *Error) {
	t.mu.Lock()
	if t.latest != nil && failed.Code != codes.Unavailable {
		t.settle(typedAnswer{err: failed})
	}
	isWanted := t.latest != nil
	t.failures++
	failures := t.failures
	t.mu.Unlock()
	if isWanted {
		sleep(t.ctx, pauseBeforeRepeat(failures, failed.retryDelay))
	}
}

// converse sends the queries of one stream, to its end.
func (t *TypeAhead) converse() error {
	conn, err := t.calls.acquire()
	if err != nil {
		return err
	}
	defer t.calls.release(conn)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	authorized, err := t.calls.authorized(ctx)
	if err != nil {
		return err
	}
	opened, err := holdfastv1.NewAutocompleteServiceClient(conn).SuggestStream(authorized)
	if err != nil {
		t.calls.leave(conn)
		return err
	}
	stream := &suggestStream{opened, make(chan error, 1), make(chan struct{})}
	go t.read(stream)
	defer func() {
		cancel()
		<-stream.read
	}()
	for {
		q, err := t.due(stream)
		if err != nil {
			if errorOfCall(err).Code == codes.Unavailable {
				t.calls.leave(conn)
			}
			return err
		}
		// The reader hears why a send fails.
		_ = stream.Send(&holdfastv1.SuggestStreamRequest{
			QueryId: q.id, Suggest: t.settings.request(t.dictionary, q.text),
		})
	}
}

// due waits for the latest query that the stream was not sent, and for the end of
// its debounce. An error is the end of the stream, or of the TypeAhead.
func (t *TypeAhead) due(stream *suggestStream) (*typedQuery, error) {
	var broken chan error
	if stream != nil {
		broken = stream.broken
	}
	for {
		q, pause := t.next(stream)
		if q != nil && pause <= 0 {
			return q, nil
		}
		var paused <-chan time.Time
		if q != nil {
			paused = time.After(pause)
		}
		select {
		case <-t.wake:
		case <-paused:
		case err := <-broken:
			return nil, err
		case <-t.ctx.Done():
			return nil, ErrClosed
		}
	}
}

// next returns the query that the stream was not sent, and the rest of its
// debounce.
func (t *TypeAhead) next(stream *suggestStream) (*typedQuery, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.latest
	if q == nil || (stream != nil && q.sentTo == stream) {
		return nil, 0
	}
	pause := time.Until(q.typedAt.Add(t.settings.debounce))
	if stream != nil && pause <= 0 {
		q.sentTo = stream
	}
	return q, pause
}

func (t *TypeAhead) read(stream *suggestStream) {
	defer close(stream.read)
	for {
		response, err := stream.Recv()
		if err != nil {
			stream.broken <- err
			return
		}
		t.mu.Lock()
		if t.latest != nil && t.latest.id == response.GetQueryId() {
			t.failures = 0
			t.settle(answerOf(response))
		}
		t.mu.Unlock()
	}
}

func answerOf(response *holdfastv1.SuggestStreamResponse) typedAnswer {
	if failed := response.GetError(); failed != nil {
		return typedAnswer{err: &Error{
			Reason:  strings.TrimPrefix(failed.GetReason().String(), "ERROR_REASON_"),
			Code:    codes.Code(failed.GetCode()),
			Message: failed.GetMessage(),
		}}
	}
	if response.GetSuggestions() == nil {
		return typedAnswer{err: errors.New("holdfast: a newer server sent an unknown answer")}
	}
	return typedAnswer{suggestions: suggestionsOf(response.GetSuggestions().GetSuggestions())}
}
