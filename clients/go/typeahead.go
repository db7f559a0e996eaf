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
	// limit ends the query at the time until.
	limit  *time.Timer
	answer chan TypeAheadAnswer // one item
}

// A TypeAheadAnswer is the answer to one query of an input field.
type TypeAheadAnswer struct {
	// Query is the text of the input field.
	Query string
	// Suggestions are the best first.
	Suggestions []Suggestion
	// Err is ErrSuperseded if a newer query has come, so show nothing. ErrUnavailable:
	// no answer within 10 s. ErrClosed: the TypeAhead or the client is closed. Other
	// errors are those of Dictionary.Suggest.
	Err error
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

// Type asks for the suggestions for the text of the input field, and does not wait.
// Call Type for each keystroke, from one goroutine: the latest call supersedes the
// earlier ones. The channel has room for its one answer, so nobody needs to read it.
// If a server breaks, the query goes on with the next one for at most 10 s.
func (t *TypeAhead) Type(query string) <-chan TypeAheadAnswer {
	return t.begin(query).answer
}

// Suggest returns the suggestions for the text of the input field, as Type does, and
// waits for them until ctx ends. The query begins with the call, so calls of several
// goroutines have no order: use Type if the keystrokes come faster than the answers.
// ErrSuperseded: a newer query has come, so show nothing.
func (t *TypeAhead) Suggest(ctx context.Context, query string) ([]Suggestion, error) {
	q := t.begin(query)
	select {
	case answer := <-q.answer:
		return answer.Suggestions, answer.Err
	case <-ctx.Done():
		t.forget(q)
		return nil, gaveUp(ctx, "suggestions")
	}
}

// begin makes a query the latest one.
func (t *TypeAhead) begin(query string) *typedQuery {
	now := time.Now()
	q := &typedQuery{
		text:   query,
		due:    now.Add(t.settings.debounce),
		until:  now.Add(callTimeout),
		answer: make(chan TypeAheadAnswer, 1),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(nil, ErrSuperseded)
	if t.ctx.Err() != nil {
		q.answer <- TypeAheadAnswer{Query: query, Err: ErrClosed}
		return q
	}
	t.lastID++
	q.id = t.lastID
	q.limit = time.AfterFunc(callTimeout, func() { t.late(q) })
	t.latest = q
	t.wakeUp()
	return q
}

// Close ends the stream. A query without an answer returns ErrClosed.
func (t *TypeAhead) Close() {
	t.cancel()
	<-t.done
}

// settle answers the latest query. It needs the mutex.
func (t *TypeAhead) settle(found []Suggestion, err error) {
	if q := t.latest; q != nil {
		q.limit.Stop()
		q.answer <- TypeAheadAnswer{Query: q.text, Suggestions: found, Err: err}
		t.latest = nil
	}
}

// late ends a query after the time limit of the query.
func (t *TypeAhead) late(q *typedQuery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest == q {
		t.settle(nil, noAnswer("no server answered the query in time", nil))
	}
}

func (t *TypeAhead) forget(q *typedQuery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest == q {
		q.limit.Stop()
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
			t.settle(nil, ErrClosed)
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
		t.settle(nil, failed)
		t.repetition.answered()
		return
	}
	q.sentTo = nil
	q.due = time.Now().Add(pause)
}

func silentStream() *Error {
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
			return nil, silentStream()
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
		t.settle(nil, errors.New("holdfast: a newer server sent an unknown answer"))
		return
	}
	t.settle(suggestionsOf(response.GetSuggestions().GetSuggestions()), nil)
}

func (t *TypeAhead) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}
