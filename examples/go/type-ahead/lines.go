package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	holdfast "holdfast.dev/go"
)

// importLines replaces all entries of the dictionary by the lines of a file, which
// is never in memory as a whole.
func importLines(ctx context.Context, dictionary *holdfast.Dictionary, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	entries := func(yield func(holdfast.Entry, error) bool) {
		in := bufio.NewScanner(file)
		for in.Scan() {
			text := in.Text()
			if strings.TrimSpace(text) != "" && !yield(holdfast.Entry{ID: text, Text: text}, nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(holdfast.Entry{}, err) // then nothing is imported
		}
	}
	info, err := dictionary.Import(ctx, entries)
	if err == nil {
		fmt.Printf("imported %d entries\n", info.EntryCount)
	}
	return err
}
