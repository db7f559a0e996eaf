// Command type-ahead shows suggestions for each line of stdin: the text of an input
// field after one more key. With a file it imports the dictionary first.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"
	holdfast "holdfast.dev/go"
	"holdfast.dev/go/examples/internal/example"
)

var (
	source   = flag.String("import", "", "a file: its lines replace all entries of the dictionary")
	debounce = example.Millis("debounce-ms", 30, "the pause after a key before the query is sent")
)

func main() {
	example.Exit(run(context.Background(), example.Name()))
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
	group, ctx := errgroup.WithContext(ctx) // ends with the first error, too
	lines := bufio.NewScanner(os.Stdin)
	for ctx.Err() == nil && lines.Scan() {
		answer := field.Type(lines.Text())
		group.Go(func() error { return show(<-answer) })
	}
	return errors.Join(group.Wait(), lines.Err())
}

func show(answer holdfast.TypeAheadAnswer) error {
	if errors.Is(answer.Err, holdfast.ErrSuperseded) {
		return nil // the user has typed on
	}
	if answer.Err != nil {
		return answer.Err
	}
	texts := make([]string, len(answer.Suggestions))
	for i, suggestion := range answer.Suggestions {
		texts[i] = suggestion.Text
	}
	fmt.Printf("%s: %s\n", answer.Query, cmp.Or(strings.Join(texts, ", "), "nothing"))
	return nil
}
