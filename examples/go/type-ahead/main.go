// Command type-ahead shows suggestions for each line of stdin: the text of an input
// field after one more key. With a file it imports the dictionary first.
package main

import (
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
	stop, cancel := example.StopSignal()
	defer cancel()
	example.Exit(run(stop, name))
}

func run(stop context.Context, name string) error {
	hf, err := holdfast.Connect(stop, example.Servers())
	if err != nil {
		return err
	}
	defer hf.Close(context.Background())
	dictionary := hf.Dictionary(name)
	if *source != "" {
		if err := importLines(stop, dictionary, *source); err != nil {
			return err
		}
	}
	field := dictionary.TypeAhead(holdfast.WithMaxSuggestions(5), holdfast.WithDebounce(*debounce))
	defer field.Close()
	answered := make(chan error, 1) // the end of the latest query
	answered <- nil
	ctx, cancel := context.WithCancel(stop)
	for text := range lines(stop, os.Stdin) {
		cancel() // The latest query ends before the next begins, because goroutines have no order.
		if err := <-answered; err != nil {
			return err
		}
		ctx, cancel = context.WithCancel(stop)
		go func() { answered <- show(ctx, field, text) }()
	}
	defer cancel()
	return <-answered
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
