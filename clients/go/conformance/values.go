package main

import (
	"errors"
	"strconv"

	holdfast "holdfast.dev/go"
)

// ok returns a new result, because each command adds its id.
func ok() result { return result{"ok": true} }

func isSuperseded(err error) bool {
	return errors.Is(err, holdfast.ErrSuperseded)
}

func limit(c command) []holdfast.SuggestOption {
	if c.Limit == nil {
		return nil
	}
	return []holdfast.SuggestOption{holdfast.WithMaxSuggestions(*c.Limit)}
}

func entries(c command) []holdfast.Entry {
	var all []holdfast.Entry
	for _, e := range c.Entries {
		weight, _ := strconv.ParseInt(e.Weight.String(), 10, 64)
		all = append(all, holdfast.Entry{ID: e.EntryID, Text: e.Text, Weight: weight})
	}
	return all
}

func suggestions(found []holdfast.Suggestion) result {
	all := []result{}
	for _, s := range found {
		all = append(all, result{"entry_id": s.EntryID, "text": s.Text})
	}
	return result{"suggestions": all}
}
