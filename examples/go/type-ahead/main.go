// Command type-ahead shows suggestions for each line of stdin: the text of an input
// field after one more key. With a file it imports the dictionary first.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	holdfast "holdfast.dev/go"
	"holdfast.dev/go/examples/internal/example"
)

var (
	source   = flag.String("import", "", "a file: its lines replace all entries of the dictionary")
	debounce = example.Millis("debounce-ms", 30, "the pause after a key before the query is sent")
)

func main() {
	name := example.Name()
	example.Exit(run(context.Background(), name))
}

func run(ctx context.Context, name string) error {
	hf, err := holdfast.Connect(ctx, example.Servers())
	if err != nil {
		return err
	}
	defer hf.Close(context.Background())
	dictionary := hf.Dictionary(name)
	if *source != "" {
		if err := importLines(ctx, dictionary, *source); err != nil {
			return err
		}
	}
	field := dictionary.TypeAhead(holdfast.WithMaxSuggestions(5), holdfast.WithDebounce(*debounce))
	defer field.Close()
	return complete(ctx, field, bufio.NewScanner(os.Stdin))
}

// complete ends the latest query before the next one begins, because goroutines
// have no order.
func complete(ctx context.Context, field *holdfast.TypeAhead, lines *bufio.Scanner) error {
	answered := make(chan error, 1) // the end of the latest query
	answered <- nil
	query, cancel := context.WithCancel(ctx)
	for lines.Scan() {
		text := lines.Text()
		cancel()
		if err := <-answered; err != nil {
			return err
		}
		query, cancel = context.WithCancel(ctx)
		go func() { answered <- show(query, field, text) }()
	}
	defer cancel()
	return errors.Join(<-answered, lines.Err())
}

func show(ctx context.Context, field *holdfast.TypeAhead, text string) error {
	found, err := field.Suggest(ctx, text)
	switch {
	case errors.Is(err, context.Canceled):
		return nil // the user has typed on
	case err != nil:
		return err
	case len(found) == 0:
		fmt.Printf("%s: nothing\n", text)
		return nil
	}
	texts := make([]string, len(found))
	for i, suggestion := range found {
		texts[i] = suggestion.Text
	}
	fmt.Printf("%s: %s\n", text, strings.Join(texts, ", "))
	return nil
}
