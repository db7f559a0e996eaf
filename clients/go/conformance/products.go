package main

import (
	"context"
	"fmt"
	"strconv"

	holdfast "holdfast.dev/go"
)

// field is an input field with suggestions.
type field struct {
	*holdfast.TypeAhead
}

func (d *driver) campaign(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	held, err := hf.Election(c.Election, leaseOptions(c)...).Campaign(ctx, c.Value)
	if err != nil {
		return nil, err
	}
	return d.granted(c, held), nil
}

func (d *driver) updateValue(ctx context.Context, c command) (result, error) {
	l, err := d.lease(c)
	if err != nil {
		return nil, err
	}
	return result{"updated": true}, new(holdfast.Election).UpdateValue(ctx, l.Lease, c.Value)
}

func (d *driver) leader(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	leader, err := hf.Election(c.Election).Leader(ctx)
	if !leader.Exists() {
		return result{"leader": nil}, err
	}
	token := strconv.FormatInt(leader.FencingToken, 10)
	return result{"leader": result{"value": leader.Value, "token": token}}, err
}

func (d *driver) observe(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	for leader, err := range hf.Election(c.Election).Observe(ctx) {
		if err != nil {
			return nil, err
		}
		event := result{"event": "leader", "of": c.ID, "value": nil}
		if leader.Exists() {
			event["value"] = leader.Value
		}
		d.write(event)
	}
	return result{"cancelled": true}, nil
}

func (d *driver) addRecent(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	return ok(), hf.Recents(c.List).Add(ctx, holdfast.Recent{Text: c.Text, EntryID: c.EntryID})
}

func (d *driver) suggestRecents(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	found, err := hf.Recents(c.List).Suggest(ctx, c.Query, limit(c)...)
	return suggestions(found), err
}

func (d *driver) createDictionary(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	_, err = hf.Dictionary(c.Dictionary).Create(ctx, holdfast.Profile{})
	return ok(), err
}

func (d *driver) deleteDictionary(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	_, err = hf.Dictionary(c.Dictionary).Drop(ctx)
	return ok(), err
}

func (d *driver) put(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	return ok(), hf.Dictionary(c.Dictionary).Put(ctx, entries(c)...)
}

func (d *driver) importEntries(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	_, err = hf.Dictionary(c.Dictionary).Import(ctx, holdfast.EntriesOf(entries(c)...))
	return ok(), err
}

func (d *driver) suggest(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	found, err := hf.Dictionary(c.Dictionary).Suggest(ctx, c.Query, limit(c)...)
	return suggestions(found), err
}

func (d *driver) suggestAll(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	var options []holdfast.SuggestOption
	if c.PageSize > 0 {
		options = append(options, holdfast.WithMaxSuggestions(c.PageSize))
	}
	var all []holdfast.Suggestion
	for found, err := range hf.Dictionary(c.Dictionary).Suggestions(ctx, c.Query, options...) {
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return suggestions(all), nil
}

func (d *driver) recordSelection(ctx context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	_, err = hf.Dictionary(c.Dictionary).RecordSelection(ctx, c.EntryID)
	return ok(), err
}

func (d *driver) typeAhead(_ context.Context, c command) (result, error) {
	hf, err := d.client(c)
	if err != nil {
		return nil, err
	}
	var options []holdfast.SuggestOption
	if c.DebounceMs != nil {
		options = append(options, holdfast.WithDebounce(millis(*c.DebounceMs)))
	}
	d.mu.Lock()
	d.fields[c.As] = &field{hf.Dictionary(c.Dictionary).TypeAhead(options...)}
	d.mu.Unlock()
	return result{"opened": true}, nil
}

func (d *driver) typeQuery(ctx context.Context, c command) (result, error) {
	d.mu.Lock()
	f := d.fields[c.As]
	d.mu.Unlock()
	if f == nil {
		return nil, fmt.Errorf("there is no type-ahead %q", c.As)
	}
	found, err := f.Suggest(ctx, c.Query)
	if isSuperseded(err) {
		return result{"superseded": true}, nil
	}
	return suggestions(found), err
}
