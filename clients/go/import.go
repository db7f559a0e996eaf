package holdfast

import (
	"context"
	"errors"
	"io"
	"iter"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// An ImportOption changes how Dictionary.Import works.
type ImportOption func(*importSettings)

type importSettings struct {
	profile *holdfastv1.Profile
}

// WithProfile sets the profile of a dictionary that does not exist yet. If it
// exists with another profile, the error is ErrDictionaryExists. Default: the
// dictionary's own profile.
func WithProfile(profile Profile) ImportOption {
	return func(s *importSettings) { s.profile = profile.message() }
}

// Import replaces all entries of the dictionary in one step, and creates it if
// necessary. It reads entries only as fast as the server stores them, and never
// holds all of them in memory. If the source yields an error, Import returns that
// error. After every error the dictionary is as before, except that the outcome
// of ErrUnavailable is not known. Import has no time limit of its own: ctx ends it.
// It is not repeated, because the source may not be readable twice.
func (d *Dictionary) Import(
	ctx context.Context, entries iter.Seq2[Entry, error], options ...ImportOption,
) (info DictionaryInfo, err error) {
	const method = "ImportDictionary"
	ctx, end := d.calls.tracer(ctx, method, d.name)
	defer func() { end(err) }()
	var set importSettings
	for _, option := range options {
		option(&set)
	}
	start := &holdfastv1.ImportStart{Dictionary: d.name, Profile: set.profile}
	joined, cancel := d.calls.join(ctx)
	defer cancel()
	authorized, err := d.calls.authorized(joined)
	if err != nil {
		return DictionaryInfo{}, d.calls.failure(ctx, method, err)
	}
	conn, err := d.calls.acquire(joined)
	if err != nil {
		return DictionaryInfo{}, d.calls.failure(ctx, method, err)
	}
	defer d.calls.release(conn)
	stream, err := holdfastv1.NewAutocompleteServiceClient(conn).ImportDictionary(authorized)
	if err != nil {
		return DictionaryInfo{}, d.calls.failure(ctx, method, err)
	}
	if err := sendImport(stream, start, entries); err != nil {
		return DictionaryInfo{}, err
	}
	answer, err := stream.CloseAndRecv()
	if err != nil {
		d.calls.failed(conn, errorOfCall(err))
		return DictionaryInfo{}, d.calls.failure(ctx, method, err)
	}
	return infoOf(answer.GetDictionary()), nil
}

// sendImport returns only errors of the source. The answer of the server says why a
// send fails.
func sendImport(
	stream holdfastv1.AutocompleteService_ImportDictionaryClient,
	start *holdfastv1.ImportStart,
	entries iter.Seq2[Entry, error],
) error {
	send := func(request *holdfastv1.ImportDictionaryRequest) bool {
		return !errors.Is(stream.Send(request), io.EOF)
	}
	if !send(&holdfastv1.ImportDictionaryRequest{Part: &holdfastv1.ImportDictionaryRequest_Start{Start: start}}) {
		return nil
	}
	count := 0
	for batch, err := range batches(entries) {
		if err != nil {
			return err
		}
		count += len(batch)
		if !send(&holdfastv1.ImportDictionaryRequest{Part: &holdfastv1.ImportDictionaryRequest_Batch{
			Batch: &holdfastv1.ImportBatch{Entries: batch},
		}}) {
			return nil
		}
	}
	send(&holdfastv1.ImportDictionaryRequest{Part: &holdfastv1.ImportDictionaryRequest_Commit{
		Commit: &holdfastv1.ImportCommit{EntryCount: int64(count)},
	}})
	return nil
}
