package holdfast

import (
	"context"
	"iter"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// An Entry is one entry of a dictionary.
type Entry struct {
	// ID has 1 to 512 bytes.
	ID string
	// Text is shown and searched: 1 to 512 bytes.
	Text string
	// Aliases are other texts that find the entry. At most 16.
	Aliases []string
	// Weight ranks the entry, 0 to 2^52. Selections are added.
	Weight int64
	// Payload is returned with each suggestion. At most 1 KiB.
	Payload []byte
}

// EntriesOf returns the entries as a source for Dictionary.Import.
func EntriesOf(entries ...Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, entry := range entries {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// batches yields entries that fit into a message. At most one batch is in memory.
// It ends after an error of the source.
func batches(entries iter.Seq2[Entry, error]) iter.Seq2[[]*holdfastv1.Entry, error] {
	return func(yield func([]*holdfastv1.Entry, error) bool) {
		var batch []*holdfastv1.Entry
		bytes := 0
		for entry, err := range entries {
			if err != nil {
				yield(nil, err)
				return
			}
			message := &holdfastv1.Entry{
				EntryId: entry.ID, Text: entry.Text, Aliases: entry.Aliases,
				Weight: entry.Weight, Payload: entry.Payload,
			}
			size := proto.Size(message) + 8
			isFull := len(batch) == maxEntriesInMessage || bytes+size > maxEntryBytesInMessage
			if isFull && len(batch) > 0 {
				if !yield(batch, nil) {
					return
				}
				batch, bytes = nil, 0
			}
			batch = append(batch, message)
			bytes += size
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}

// DictionaryInfo is the state of a dictionary.
type DictionaryInfo struct {
	Name       string
	Profile    Profile
	EntryCount int64
	// MemoryBytes is the estimated memory in the store.
	MemoryBytes int64
	// Generation is 1 after the creation, plus 1 for each import.
	Generation int64
	// OpenImportCount counts the open imports of all servers.
	OpenImportCount int
	// LoadState is NOT_LOADED, LOADING, READY or FAILED, for the index in the server
	// that answered, and ServerMemoryBytes is the memory of that index.
	LoadState         string
	ServerMemoryBytes int64
}

func infoOf(m *holdfastv1.Dictionary) DictionaryInfo {
	return DictionaryInfo{
		Name: m.GetName(),
		Profile: Profile{
			DropAccents: m.GetProfile().GetAccents() == holdfastv1.AccentHandling_ACCENT_HANDLING_DROPPED,
			NoTypos:     m.GetProfile().GetTypoMatching() == holdfastv1.TypoMatching_TYPO_MATCHING_OFF,
		},
		EntryCount:        m.GetEntryCount(),
		MemoryBytes:       m.GetMemoryBytes(),
		Generation:        m.GetGeneration(),
		OpenImportCount:   len(m.GetImports()),
		LoadState:         strings.TrimPrefix(m.GetLoadState().String(), "LOAD_STATE_"),
		ServerMemoryBytes: m.GetServerMemoryBytes(),
	}
}

// Info reads the state of the dictionary, and loads nothing.
func (d *Dictionary) Info(ctx context.Context) (DictionaryInfo, error) {
	request := &holdfastv1.GetDictionaryRequest{Dictionary: d.name}
	answer, err := call(ctx, d.calls, operation[*holdfastv1.GetDictionaryResponse]{
		method: "GetDictionary", name: d.name,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.GetDictionaryResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).GetDictionary(ctx, request)
		},
	})
	if err != nil {
		return DictionaryInfo{}, err
	}
	return infoOf(answer.GetDictionary()), nil
}

// A ListedEntry is an entry with the number of its selections.
type ListedEntry struct {
	Entry
	SelectionCount int64
}

// Entries yields all entries in the order of their texts, and reads one page after
// the other. It ends after an error.
func (d *Dictionary) Entries(ctx context.Context) iter.Seq2[ListedEntry, error] {
	return func(yield func(ListedEntry, error) bool) {
		request := &holdfastv1.ListEntriesRequest{Dictionary: d.name, PageSize: listPageSize}
		for {
			answer, err := d.listEntries(ctx, request)
			if err != nil {
				yield(ListedEntry{}, err)
				return
			}
			for _, listed := range answer.GetEntries() {
				if !yield(listedEntryOf(listed), nil) {
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

func (d *Dictionary) listEntries(
	ctx context.Context, request *holdfastv1.ListEntriesRequest,
) (*holdfastv1.ListEntriesResponse, error) {
	return call(ctx, d.calls, operation[*holdfastv1.ListEntriesResponse]{
		method: "ListEntries", name: d.name,
		run: func(ctx context.Context, cc grpc.ClientConnInterface) (*holdfastv1.ListEntriesResponse, error) {
			return holdfastv1.NewAutocompleteServiceClient(cc).ListEntries(ctx, request)
		},
	})
}

func listedEntryOf(m *holdfastv1.ListedEntry) ListedEntry {
	entry := m.GetEntry()
	return ListedEntry{
		Entry: Entry{
			ID: entry.GetEntryId(), Text: entry.GetText(), Aliases: entry.GetAliases(),
			Weight: entry.GetWeight(), Payload: entry.GetPayload(),
		},
		SelectionCount: m.GetSelectionCount(),
	}
}
