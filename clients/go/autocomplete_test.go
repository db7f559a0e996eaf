package holdfast_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	holdfast "holdfast.dev/go"
)

func texts(suggestions []holdfast.Suggestion) string {
	var all []string
	for _, s := range suggestions {
		all = append(all, s.Text)
	}
	return fmt.Sprint(all)
}

func TestRecentsComeBackLatestFirst(t *testing.T) {
	ctx, hf := connect(t)
	recents := hf.Recents(uniqueName(t))
	for _, text := range []string{"Berlin", "Bern", "Paris"} {
		if err := recents.Add(ctx, holdfast.Recent{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := recents.Suggest(ctx, "ber", holdfast.WithMaxSuggestions(5))
	if err != nil || texts(found) != "[Bern Berlin]" {
		t.Errorf("suggestions %v, error %v", texts(found), err)
	}
	if removed, err := recents.Remove(ctx, holdfast.Recent{Text: "Bern"}); !removed || err != nil {
		t.Errorf("removed %v, error %v", removed, err)
	}
	if deleted, err := recents.Delete(ctx); !deleted || err != nil {
		t.Errorf("deleted %v, error %v", deleted, err)
	}
}

func TestADictionaryIsImportedAndListedInPages(t *testing.T) {
	ctx, hf := connect(t)
	dictionary := hf.Dictionary(uniqueName(t))
	const count = 2500
	info, err := dictionary.Import(ctx, func(yield func(holdfast.Entry, error) bool) {
		for i := range count {
			if !yield(holdfast.Entry{ID: fmt.Sprint(i), Text: fmt.Sprintf("entry %04d", i)}, nil) {
				return
			}
		}
	}, holdfast.WithProfile(holdfast.Profile{NoTypos: true}))
	if err != nil || info.EntryCount != count || !info.Profile.NoTypos {
		t.Fatalf("info %+v, error %v", info, err)
	}
	listed := 0
	for entry, err := range dictionary.Entries(ctx) {
		if err != nil || entry.Text != fmt.Sprintf("entry %04d", listed) {
			t.Fatalf("entry %d is %v, error %v", listed, entry, err)
		}
		listed++
	}
	if listed != count {
		t.Errorf("%d entries are listed", listed)
	}
	broken := errors.New("the source is broken")
	_, err = dictionary.Import(ctx, func(yield func(holdfast.Entry, error) bool) { yield(holdfast.Entry{}, broken) })
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if info, err := dictionary.Info(ctx); err != nil || info.EntryCount != count {
		t.Errorf("after a broken import: %+v, error %v", info, err)
	}
	if dropped, err := dictionary.Drop(ctx); !dropped || err != nil {
		t.Errorf("dropped %v, error %v", dropped, err)
	}
}

func TestSelectionsMoveAnEntryUp(t *testing.T) {
	ctx, hf := connect(t)
	dictionary := hf.Dictionary(uniqueName(t))
	if _, err := dictionary.Suggest(ctx, "a"); !errors.Is(err, holdfast.ErrNoSuchDictionary) {
		t.Errorf("error %v", err)
	}
	if _, err := dictionary.Create(ctx, holdfast.Profile{}); err != nil {
		t.Fatal(err)
	}
	_, err := dictionary.Create(ctx, holdfast.Profile{DropAccents: true})
	if !errors.Is(err, holdfast.ErrDictionaryExists) {
		t.Errorf("error %v", err)
	}
	err = dictionary.Put(ctx, holdfast.Entry{ID: "1", Text: "apple", Weight: 1}, holdfast.Entry{ID: "2", Text: "apricot"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if recorded, err := dictionary.RecordSelection(ctx, "2"); !recorded || err != nil {
			t.Errorf("recorded %v, error %v", recorded, err)
		}
	}
	if found, err := dictionary.Suggest(ctx, "ap"); err != nil || texts(found) != "[apricot apple]" {
		t.Errorf("suggestions %v, error %v", texts(found), err)
	}
	var all []holdfast.Suggestion
	for suggestion, err := range dictionary.Suggestions(ctx, "ap", holdfast.WithMaxSuggestions(1)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, suggestion)
	}
	if texts(all) != "[apricot apple]" {
		t.Errorf("pages of one suggestion: %v", texts(all))
	}
	if deleted, err := dictionary.Delete(ctx, "1", "3"); deleted != 1 || err != nil {
		t.Errorf("deleted %d, error %v", deleted, err)
	}
}

func TestANewerQuerySupersedesTheQueryBefore(t *testing.T) {
	ctx, hf := connect(t)
	dictionary := hf.Dictionary(uniqueName(t))
	if _, err := dictionary.Create(ctx, holdfast.Profile{}); err != nil {
		t.Fatal(err)
	}
	if err := dictionary.Put(ctx, holdfast.Entry{ID: "1", Text: "apple"}); err != nil {
		t.Fatal(err)
	}
	field := dictionary.TypeAhead(holdfast.WithDebounce(300 * time.Millisecond))
	first := make(chan error)
	go func() {
		_, err := field.Suggest(ctx, "a")
		first <- err
	}()
	time.Sleep(50 * time.Millisecond)
	found, err := field.Suggest(ctx, "ap")
	if err != nil || texts(found) != "[apple]" {
		t.Errorf("suggestions %v, error %v", texts(found), err)
	}
	if err := <-first; !errors.Is(err, holdfast.ErrSuperseded) {
		t.Errorf("the first query ended with %v", err)
	}
	field.Close()
	if _, err := field.Suggest(ctx, "app"); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestTheLatestKeystrokeSupersedesTheEarlierOnes(t *testing.T) {
	ctx, hf := connect(t)
	dictionary := hf.Dictionary(uniqueName(t))
	if _, err := dictionary.Create(ctx, holdfast.Profile{}); err != nil {
		t.Fatal(err)
	}
	if err := dictionary.Put(ctx, holdfast.Entry{ID: "1", Text: "apple"}); err != nil {
		t.Fatal(err)
	}
	// A long debounce, so that no earlier keystroke is answered.
	field := dictionary.TypeAhead(holdfast.WithDebounce(time.Second))
	var answers []<-chan holdfast.TypeAheadAnswer
	for _, text := range []string{"a", "ap", "app"} {
		answers = append(answers, field.Type(text))
	}
	for i, text := range []string{"a", "ap"} {
		if answer := <-answers[i]; answer.Query != text || !errors.Is(answer.Err, holdfast.ErrSuperseded) {
			t.Errorf("the answer to %q is %+v", text, answer)
		}
	}
	if answer := <-answers[2]; answer.Query != "app" || answer.Err != nil || texts(answer.Suggestions) != "[apple]" {
		t.Errorf("the answer to the last keystroke is %+v", answer)
	}
	unanswered := field.Type("appl")
	field.Close()
	if answer := <-unanswered; !errors.Is(answer.Err, holdfast.ErrClosed) {
		t.Errorf("after Close: %+v", answer)
	}
	if answer := <-field.Type("apple"); !errors.Is(answer.Err, holdfast.ErrClosed) {
		t.Errorf("a keystroke after Close: %+v", answer)
	}
}

func TestAnElectionShowsItsLeader(t *testing.T) {
	ctx, hf := connect(t, holdfast.WithHolderID("worker-1"))
	election := hf.Election(uniqueName(t))
	if leader, err := election.Leader(ctx); err != nil || leader.Exists() {
		t.Errorf("leader %v, error %v", leader, err)
	}
	seen := make(chan holdfast.Leader)
	go func() {
		defer close(seen)
		for leader, err := range election.Observe(ctx) {
			if err != nil {
				t.Error(err)
				return
			}
			seen <- leader
			if leader.Value == "b" {
				return
			}
		}
	}()
	if leader := <-seen; leader.Exists() {
		t.Errorf("the first leader is %v", leader)
	}
	lease, err := election.Campaign(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	want := holdfast.Leader{Value: "a", FencingToken: lease.FencingToken(), HolderID: "worker-1"}
	if leader := <-seen; leader != want {
		t.Errorf("the leader is %v, not %v", leader, want)
	}
	if err := election.UpdateValue(ctx, lease, "b"); err != nil {
		t.Fatal(err)
	}
	want.Value = "b"
	if leader := <-seen; leader != want {
		t.Errorf("the leader is %v, not %v", leader, want)
	}
	if leader, isOpen := <-seen; isOpen {
		t.Errorf("after the value b the leader is %v", leader)
	}
}

func TestServerInfoNamesVersionAndFeatures(t *testing.T) {
	ctx, hf := connect(t)
	info, err := hf.ServerInfo(ctx)
	if err != nil || info.Version == "" || len(info.Features) == 0 || info.DefaultTTL != 30*time.Second {
		t.Errorf("info %+v, error %v", info, err)
	}
}
