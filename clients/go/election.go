package holdfast

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// valueKey is the metadata entry of the lease that has the leader's value.
const valueKey = "value"

// An Election chooses one leader: the holder of the lock with the name of the
// election.
type Election struct {
	resource resource
}

// Election returns the election with this name, of 1 to 512 bytes.
func (c *Client) Election(name string, options ...LeaseOption) *Election {
	w := wanted{name: name, isLock: true}
	for _, option := range options {
		option(&w)
	}
	return &Election{resource{c, "election", w}}
}

// A Leader is the leader of an election. The zero Leader means that there is none.
type Leader struct {
	// Value is the text that the leader has given, for example its address.
	Value string
	// FencingToken rises with each leader. 0: there is no leader.
	FencingToken int64
	// HolderID is the label of the leader's process. See WithHolderID.
	HolderID string
}

// Exists says whether there is a leader.
func (l Leader) Exists() bool {
	return l.FencingToken != 0
}

// Campaign waits until this process is the leader. value is what the others see,
// for example an address. Release of the lease resigns.
func (e *Election) Campaign(ctx context.Context, value string) (*Lease, error) {
	return e.candidate(value).acquire(ctx)
}

// Lead waits until this process is the leader, runs f, and resigns after the end of
// f. If the lead is lost, Lead works as Lock.Do.
func (e *Election) Lead(ctx context.Context, value string, f func(ctx context.Context, lease *Lease) error) error {
	return e.candidate(value).do(ctx, f)
}

func (e *Election) candidate(value string) resource {
	r := e.resource
	r.wanted.metadata = maps.Clone(r.wanted.metadata)
	if r.wanted.metadata == nil {
		r.wanted.metadata = maps.Clone(r.client.engine.settings.metadata)
	}
	if r.wanted.metadata == nil {
		r.wanted.metadata = map[string]string{}
	}
	r.wanted.metadata[valueKey] = value
	r.wanted.isCandidate = true
	return r
}

// UpdateValue replaces the value of a lease of Campaign or Lead, and leaves its other
// metadata.
func (e *Election) UpdateValue(ctx context.Context, lease *Lease, value string) error {
	held := lease.held
	if !held.isCandidate {
		return fmt.Errorf("holdfast: %v is not the lease of a leader", lease)
	}
	return held.e.update(ctx, held, func(shown map[string]string) map[string]string {
		shown = maps.Clone(shown)
		shown[valueKey] = value
		return shown
	})
}

// Leader returns the present leader, or the zero Leader.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	name := e.resource.wanted.name
	answer, err := call(ctx, e.resource.client.calls, operation[*holdfastv1.GetLockResponse]{
		method: "GetLock",
		name:   name,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.GetLockResponse, error) {
			return holdfastv1.NewLockServiceClient(cc).GetLock(ctx, &holdfastv1.GetLockRequest{Name: name})
		},
	})
	return leaderOf(answer.GetLock()), err
}

// Observe yields the leader at once, and again after each change. It goes on at the
// next server after a broken connection. It ends when ctx ends, and after an error
// that a repetition does not help.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		o := observer{election: e, calls: e.resource.client.calls, yield: yield}
		for {
			wasSent, err := o.watch(ctx)
			if o.isDone || ctx.Err() != nil {
				return
			}
			if o.calls.ctx.Err() != nil {
				yield(Leader{}, ErrClosed)
				return
			}
			failed := errorOfCall(err)
			pause, again := o.repetition.pauseAfter(failed, wasSent)
			if !again {
				yield(Leader{}, failed)
				return
			}
			sleep(ctx, pause)
		}
	}
}

// An observer remembers the last leader over several streams.
type observer struct {
	election   *Election
	calls      *calls
	yield      func(Leader, error) bool
	isDone     bool
	hasLast    bool
	last       Leader
	repetition repetition
}

// watch yields the changes of one stream, to its end. wasSent is false if it has
// failed before it reached the network.
func (o *observer) watch(ctx context.Context) (wasSent bool, err error) {
	joined, cancel := o.calls.join(ctx)
	defer cancel()
	authorized, err := o.calls.authorized(joined)
	if err != nil {
		return false, err
	}
	conn, err := o.calls.acquire(joined)
	if err != nil {
		return false, err
	}
	defer o.calls.release(conn)
	// A new connection may lead nowhere.
	bounded, stop := context.WithCancel(authorized)
	defer stop()
	silence := time.AfterFunc(firstAnswerTimeout, stop)
	defer silence.Stop()
	request := &holdfastv1.WatchLockRequest{Name: o.election.resource.wanted.name}
	stream, err := holdfastv1.NewLockServiceClient(conn).WatchLock(bounded, request)
	for err == nil {
		var answer *holdfastv1.WatchLockResponse
		if answer, err = stream.Recv(); err == nil {
			silence.Stop()
			o.repetition.answered()
			o.tell(leaderOf(answer.GetLock()))
			if o.isDone {
				return true, nil
			}
		}
	}
	if bounded.Err() != nil && joined.Err() == nil {
		text := fmt.Sprintf("a watch of %q has heard nothing for %v", request.GetName(), firstAnswerTimeout)
		err = &Error{Code: codes.Unavailable, Message: text}
	}
	o.calls.failed(conn, errorOfCall(err))
	return true, err
}

func (o *observer) tell(leader Leader) {
	if o.hasLast && leader == o.last {
		return
	}
	o.hasLast, o.last = true, leader
	o.isDone = !o.yield(leader, nil)
}

func leaderOf(lock *holdfastv1.Lock) Leader {
	holders := lock.GetHolders()
	if len(holders) == 0 {
		return Leader{}
	}
	return Leader{
		Value:        holders[0].GetMetadata()[valueKey],
		FencingToken: holders[0].GetFencingToken(),
		HolderID:     holders[0].GetHolderId(),
	}
}
