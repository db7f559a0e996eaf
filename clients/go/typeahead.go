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
	latest     *typedQuery
	lastID     int64
	repetition repetition
}

type typedQuery struct {
	id   int64
	text string
	// due is the time from which the query may be sent, and until that at which
	// nobody waits for the answer any more.
	due, until time.Time
	// sentTo is the stream that was sent the query, and lateAt the time at which that
	// stream is left without an answer.
	sentTo *suggestStream
	lateAt time.Time
	answer chan typedAnswer // one item
}

type typedAnswer struct {
	suggestions []Suggestion
	err         error
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
	now := time.Now()
	q := &typedQuery{
		text:   query,
		due:    now.Add(t.settings.debounce),
		until:  now.Add(callTimeout),
		answer: make(chan typedAnswer, 1),
	}
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
	t.wakeUp()
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
		wasSent := false
		if err == nil {
			wasSent, err = t.converse()
		}
		if t.ctx.Err() != nil {
			t.mu.Lock()
			t.settle(typedAnswer{err: ErrClosed})
			t.mu.Unlock()
			return
		}
		t.mu.Lock()
		t.repeat(errorOfCall(err), wasSent)
		t.mu.Unlock()
	}
}

// repeat sends the latest query again after a pause, if somebody still waits for the
// answer and a repetition helps. It needs the mutex.
func (t *TypeAhead) repeat(failed *Error, wasSent bool) {
	q := t.latest
	if q == nil {
		return
	}
	pause, again := t.repetition.pauseAfter(failed, wasSent)
	if !again || time.Until(q.until) <= pause {
		t.settle(typedAnswer{err: failed})
		t.repetition.answered()
		return
	}
	q.sentTo = nil
	q.due = time.Now().Add(pause)
}

func late() *Error {
	return &Error{Code: codes.DeadlineExceeded, Message: "the server has not answered the query in time"}
}

// attemptOfLatest returns the time of one attempt to answer the latest query.
func (t *TypeAhead) attemptOfLatest() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest == nil {
		return callTimeout
	}
	return attemptTime(time.Until(t.latest.until), false)
}

// due waits for the latest query that the stream was not sent, and for the end of
// its debounce or pause. An error is the end of the stream, or of the TypeAhead, or
// the silence of the server.
func (t *TypeAhead) due(stream *suggestStream) (*typedQuery, error) {
	var broken chan error
	if stream != nil {
		broken = stream.broken
	}
	for {
		q, isLate, pause := t.next(stream)
		if q != nil {
			return q, nil
		}
		if isLate {
			return nil, late()
		}
		timer := time.NewTimer(pause)
		select {
		case <-t.wake:
		case <-timer.C:
		case err := <-broken:
			timer.Stop()
			return nil, err
		case <-t.ctx.Done():
			timer.Stop()
			return nil, ErrClosed
		}
		timer.Stop()
	}
}

// next returns the query that is due, or says that the stream has not answered in
// time, or returns the time to look again.
func (t *TypeAhead) next(stream *suggestStream) (q *typedQuery, isLate bool, pause time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q = t.latest
	if q == nil {
		return nil, false, time.Hour
	}
	if stream != nil && q.sentTo == stream {
		pause = time.Until(q.lateAt)
		return nil, pause <= 0, pause
	}
	if pause = time.Until(q.due); pause > 0 {
		return nil, false, pause
	}
	if stream != nil {
		q.sentTo = stream
		q.lateAt = time.Now().Add(attemptTime(time.Until(q.until), false))
	}
	return q, false, 0
}

// answered takes the answer to the latest query. It needs the mutex.
func (t *TypeAhead) answered(response *holdfastv1.SuggestStreamResponse) {
	if failed := response.GetError(); failed != nil {
		t.repeat(&Error{
			Reason:  strings.TrimPrefix(failed.GetReason().String(), "ERROR_REASON_"),
			Code:    codes.Code(failed.GetCode()),
			Message: failed.GetMessage(),
		}, true)
		t.wakeUp()
		return
	}
	t.repetition.answered()
	if response.GetSuggestions() == nil {
		t.settle(typedAnswer{err: errors.New("holdfast: a newer server sent an unknown answer")})
		return
	}
	t.settle(typedAnswer{suggestions: suggestionsOf(response.GetSuggestions().GetSuggestions())})
}

func (t *TypeAhead) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}
