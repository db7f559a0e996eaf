package holdfast

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"google.golang.org/grpc"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// maxPageSize is the greatest number of suggestions in one answer.
const maxPageSize = 100

// A Dictionary is a set of entries that all callers share.
type Dictionary struct {
	calls *calls
	name  string
}

// Dictionary returns the dictionary with this name, of 1 to 512 bytes.
func (c *Client) Dictionary(name string) *Dictionary {
	return &Dictionary{c.calls, name}
}

// A Profile is fixed at the creation of a dictionary. The zero Profile has the
// defaults.
type Profile struct {
	// DropAccents: "resume" finds "résumé".
	DropAccents bool
	// NoTypos: a query with typos finds nothing.
	NoTypos bool
}

func (p Profile) message() *holdfastv1.Profile {
	m := &holdfastv1.Profile{
		Accents:      holdfastv1.AccentHandling_ACCENT_HANDLING_KEPT,
		TypoMatching: holdfastv1.TypoMatching_TYPO_MATCHING_ON,
	}
	if p.DropAccents {
		m.Accents = holdfastv1.AccentHandling_ACCENT_HANDLING_DROPPED
	}
	if p.NoTypos {
		m.TypoMatching = holdfastv1.TypoMatching_TYPO_MATCHING_OFF
	}
	return m
}

// Create creates an empty dictionary. A dictionary that exists with the same
// profile keeps its entries; with another profile the error is
// ErrDictionaryExists.
func (d *Dictionary) Create(ctx context.Context, profile Profile) (DictionaryInfo, error) {
	request := &holdfastv1.CreateDictionaryRequest{Dictionary: d.name, Profile: profile.message()}
	answer, err := call(ctx, d.calls, operation[*holdfastv1.CreateDictionaryResponse]{
		method: "CreateDictionary", name: d.name,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.CreateDictionaryResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).CreateDictionary(ctx, request)
		},
	})
	return infoOf(answer.GetDictionary()), err
}

// Put adds entries, and replaces entries with the same ID. Each 1000 entries, or
// 3 MiB, are one atomic step of at most 2 min. After an error earlier steps stay.
func (d *Dictionary) Put(ctx context.Context, entries ...Entry) error {
	for batch, err := range batches(EntriesOf(entries...)) {
		if err != nil {
			return err
		}
		request := &holdfastv1.PutEntriesRequest{Dictionary: d.name, Entries: batch}
		_, err := call(ctx, d.calls, operation[*holdfastv1.PutEntriesResponse]{
			method: "PutEntries", name: d.name, limit: putTimeout,
			run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.PutEntriesResponse, error) {
				return holdfastv1.NewAutocompleteServiceClient(cc).PutEntries(ctx, request)
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes entries and their selections. It returns the number of entries
// that existed. Each 1000 ids are one call, which is not repeated after a broken
// connection, because the number would be wrong.
func (d *Dictionary) Delete(ctx context.Context, ids ...string) (deleted int, err error) {
	for batch := range slices.Chunk(ids, maxEntriesInMessage) {
		request := &holdfastv1.DeleteEntriesRequest{Dictionary: d.name, EntryIds: batch}
		answer, err := call(ctx, d.calls, operation[*holdfastv1.DeleteEntriesResponse]{
			method: "DeleteEntries", name: d.name, isCounted: true,
			run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.DeleteEntriesResponse, error) {
				return holdfastv1.NewAutocompleteServiceClient(cc).DeleteEntries(ctx, request)
			},
		})
		if err != nil {
			return deleted, err
		}
		deleted += int(answer.GetDeletedCount())
	}
	return deleted, nil
}

// Suggest returns the best matches, the best first. An empty query matches every
// entry. While a server loads the dictionary, Suggest waits for at most 10 s.
func (d *Dictionary) Suggest(ctx context.Context, query string, options ...SuggestOption) ([]Suggestion, error) {
	answer, err := d.suggest(ctx, newSuggestSettings(options).request(d.name, query))
	return suggestionsOf(answer.GetSuggestions()), err
}

// Suggestions yields all matches, the best first, and reads one page after the
// other: WithMaxSuggestions is the size of a page, by default 100. It ends after an error.
func (d *Dictionary) Suggestions(
	ctx context.Context, query string, options ...SuggestOption,
) iter.Seq2[Suggestion, error] {
	return func(yield func(Suggestion, error) bool) {
		set := newSuggestSettings(options)
		set.limit = cmp.Or(set.limit, maxPageSize)
		request := set.request(d.name, query)
		for {
			answer, err := d.suggest(ctx, request)
			if err != nil {
				yield(Suggestion{}, err)
				return
			}
			for _, suggestion := range suggestionsOf(answer.GetSuggestions()) {
				if !yield(suggestion, nil) {
					return
				}
			}
			if answer.GetNextPageToken() == "" {
				return
			}
			request.PageToken = answer.GetNextPageToken()
		}
	}
}

func (d *Dictionary) suggest(
	ctx context.Context, request *holdfastv1.SuggestRequest,
) (*holdfastv1.SuggestResponse, error) {
	return call(ctx, d.calls, operation[*holdfastv1.SuggestResponse]{
		method: "Suggest", name: d.name,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.SuggestResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).Suggest(ctx, request)
		},
	})
}

// RecordSelection counts that a user selected an entry, which moves the entry up. It
// returns false if there is no such entry. The call is not repeated after a broken
// connection, because each call counts.
func (d *Dictionary) RecordSelection(ctx context.Context, entryID string) (recorded bool, err error) {
	request := &holdfastv1.RecordSelectionRequest{Dictionary: d.name, EntryId: entryID}
	answer, err := call(ctx, d.calls, operation[*holdfastv1.RecordSelectionResponse]{
		method: "RecordSelection", name: d.name, isCounted: true,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.RecordSelectionResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).RecordSelection(ctx, request)
		},
	})
	return answer.GetRecorded(), err
}

// Drop deletes the dictionary with all its entries and selections. It returns
// false if the dictionary does not exist.
func (d *Dictionary) Drop(ctx context.Context) (deleted bool, err error) {
	request := &holdfastv1.DeleteDictionaryRequest{Dictionary: d.name}
	answer, err := call(ctx, d.calls, operation[*holdfastv1.DeleteDictionaryResponse]{
		method: "DeleteDictionary", name: d.name,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.DeleteDictionaryResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).DeleteDictionary(ctx, request)
		},
	})
	return answer.GetDeleted(), err
}
