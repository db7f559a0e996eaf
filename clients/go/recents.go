package holdfast

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// Recents is a list of the latest choices of one user.
type Recents struct {
	calls *calls
	list  string
}

// Recents returns the list with this name, of 1 to 512 bytes, for example the id of
// a user.
func (c *Client) Recents(list string) *Recents {
	return &Recents{c.calls, list}
}

// A Recent is one choice.
type Recent struct {
	// Text is shown and searched: 1 to 512 bytes.
	Text string
	// EntryID is the id of the matching dictionary entry, if there is one. Recent
	// and entry are then one suggestion.
	EntryID string
	// Payload is returned with the suggestion: at most 1 KiB.
	Payload []byte
	// Capacity is the maximum number of recents in the list from now on, 1 to 1000.
	// 0: the default, 100.
	Capacity int
}

// Add puts a recent at the front of the list. A recent that is already in the list
// moves to the front.
func (r *Recents) Add(ctx context.Context, recent Recent) error {
	request := &holdfastv1.AddRecentRequest{
		List: r.list, Text: recent.Text, EntryId: recent.EntryID, Payload: recent.Payload,
	}
	if recent.Capacity != 0 {
		request.Capacity = proto.Int32(nearestInt32(recent.Capacity))
	}
	_, err := call(ctx, r.calls, operation[*holdfastv1.AddRecentResponse]{
		method: "AddRecent", name: r.list,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.AddRecentResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).AddRecent(ctx, request)
		},
	})
	return err
}

// Remove removes the recent with this EntryID or, without an EntryID, this Text. It
// returns false if the list has no such recent.
func (r *Recents) Remove(ctx context.Context, recent Recent) (removed bool, err error) {
	request := &holdfastv1.RemoveRecentRequest{List: r.list, Text: recent.Text, EntryId: recent.EntryID}
	answer, err := call(ctx, r.calls, operation[*holdfastv1.RemoveRecentResponse]{
		method: "RemoveRecent", name: r.list,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.RemoveRecentResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).RemoveRecent(ctx, request)
		},
	})
	return answer.GetRemoved(), err
}

// Suggest returns the matching recents, the best first. An empty query matches all
// recents. WithMaxSuggestions and WithMatchKinds have an effect.
func (r *Recents) Suggest(ctx context.Context, query string, options ...SuggestOption) ([]Suggestion, error) {
	set := newSuggestSettings(options)
	request := &holdfastv1.SuggestRecentsRequest{
		List: r.list, Query: query, PageSize: nearestInt32(set.limit), MatchKinds: set.kinds,
	}
	answer, err := call(ctx, r.calls, operation[*holdfastv1.SuggestRecentsResponse]{
		method: "SuggestRecents", name: r.list,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.SuggestRecentsResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).SuggestRecents(ctx, request)
		},
	})
	if err != nil {
		return nil, err
	}
	return suggestionsOf(answer.GetSuggestions()), nil
}

// Delete deletes the whole list, for example to forget a user. It returns false if
// the list does not exist.
func (r *Recents) Delete(ctx context.Context) (deleted bool, err error) {
	request := &holdfastv1.DeleteRecentsRequest{List: r.list}
	answer, err := call(ctx, r.calls, operation[*holdfastv1.DeleteRecentsResponse]{
		method: "DeleteRecents", name: r.list,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.DeleteRecentsResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).DeleteRecents(ctx, request)
		},
	})
	return answer.GetDeleted(), err
}
