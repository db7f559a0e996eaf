package holdfast

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A MatchKind says how a text matches a query. Smaller kinds rank first.
type MatchKind int

// The kinds of matches.
const (
	// MatchExact: the text equals the query.
	MatchExact MatchKind = 1
	// MatchPrefix: the text begins with the query.
	MatchPrefix MatchKind = 2
	// MatchWordPrefix: a later word of the text begins with the query.
	MatchWordPrefix MatchKind = 3
	// MatchSuffix: the text ends with the query.
	MatchSuffix MatchKind = 4
	// MatchContains: the text contains the query.
	MatchContains MatchKind = 5
	// MatchTypo: the text begins with the query except for typos.
	MatchTypo MatchKind = 6
)

// A Segment is a part of a text.
type Segment struct {
	Text string
	// Matched: the part matches the query, for example to show it in bold.
	Matched bool
}

// A Suggestion is one match.
type Suggestion struct {
	// EntryID is empty for a recent without an entry.
	EntryID string
	// Text is the text to show, and Segments are its parts in order.
	Text     string
	Segments []Segment
	Payload  []byte
	Kind     MatchKind
	// Score is weight plus selections, 0 for a recent without an entry.
	Score int64
	// Recent: the suggestion is one of the recents.
	Recent bool
}

func suggestionsOf(messages []*holdfastv1.Suggestion) []Suggestion {
	suggestions := make([]Suggestion, len(messages))
	for i, m := range messages {
		segments := make([]Segment, len(m.GetSegments()))
		for j, s := range m.GetSegments() {
			segments[j] = Segment{s.GetText(), s.GetMatched()}
		}
		suggestions[i] = Suggestion{
			EntryID:  m.GetEntryId(),
			Text:     m.GetText(),
			Segments: segments,
			Payload:  m.GetPayload(),
			Kind:     MatchKind(m.GetMatchKind()),
			Score:    m.GetScore(),
			Recent:   m.GetRecent(),
		}
	}
	return suggestions
}

// suggestSettings are the values of the options of queries.
type suggestSettings struct {
	limit        int
	kinds        []holdfastv1.MatchKind
	recents      string
	maxStaleness time.Duration
	debounce     time.Duration
}

func newSuggestSettings(options []SuggestOption) suggestSettings {
	set := suggestSettings{debounce: typeAheadDebounce}
	for _, option := range options {
		option(&set)
	}
	return set
}

// A SuggestOption changes how suggestions are looked up.
type SuggestOption func(*suggestSettings)

// WithMaxSuggestions sets the maximum number of suggestions, at most 100. Default: 10.
func WithMaxSuggestions(n int) SuggestOption {
	return func(s *suggestSettings) { s.limit = n }
}

// WithMatchKinds sets the wanted kinds. Default: all kinds.
func WithMatchKinds(kinds ...MatchKind) SuggestOption {
	return func(s *suggestSettings) {
		s.kinds = nil
		for _, kind := range kinds {
			s.kinds = append(s.kinds, holdfastv1.MatchKind(kind))
		}
	}
}

// WithRecents puts the matching recents of a list in front of the entries of a
// dictionary. Default: no recents.
func WithRecents(list string) SuggestOption {
	return func(s *suggestSettings) { s.recents = list }
}

// WithMaxStaleness allows a server to answer without a look at the store, if it
// has looked within this time. From 0 to 1 h. Default: 0, so an answer has every
// change that ended before the query. Only for dictionaries.
func WithMaxStaleness(age time.Duration) SuggestOption {
	return func(s *suggestSettings) { s.maxStaleness = age }
}

// WithDebounce sets the pause after a keystroke before a TypeAhead sends the query.
// Default: 30 ms. 0: each keystroke is sent.
func WithDebounce(pause time.Duration) SuggestOption {
	return func(s *suggestSettings) { s.debounce = pause }
}

func (s suggestSettings) request(dictionary, query string) *holdfastv1.SuggestRequest {
	request := &holdfastv1.SuggestRequest{
		Dictionary:  dictionary,
		Query:       query,
		PageSize:    nearestInt32(s.limit),
		MatchKinds:  s.kinds,
		RecentsList: s.recents,
	}
	if s.maxStaleness > 0 {
		request.MaxStaleness = durationpb.New(s.maxStaleness)
	}
	return request
}
