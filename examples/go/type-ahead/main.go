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
	return complete(field, bufio.NewScanner(os.Stdin))
}

// complete types each line, and prints the answers meanwhile.
func complete(field *holdfast.TypeAhead, lines *bufio.Scanner) error {
	answers := make(chan (<-chan holdfast.TypeAheadAnswer))
	shown := make(chan error, 1)
	go func() { shown <- show(answers) }()
	for lines.Scan() {
		// An earlier query is superseded by now, so show takes the next one soon.
		select {
		case answers <- field.Type(lines.Text()):
		case err := <-shown:
			return err
		}
	}
	close(answers)
	return errors.Join(<-shown, lines.Err())
}

// show prints the answers up to the first that failed.
func show(answers <-chan (<-chan holdfast.TypeAheadAnswer)) error {
	for next := range answers {
		answer := <-next
		switch {
		case errors.Is(answer.Err, holdfast.ErrSuperseded):
			continue // the user has typed on
		case answer.Err != nil:
			return answer.Err
		}
		fmt.Printf("%s: %s\n", answer.Query, text(answer.Suggestions))
	}
	return nil
}

func text(suggestions []holdfast.Suggestion) string {
	if len(suggestions) == 0 {
		return "nothing"
	}
	texts := make([]string, len(suggestions))
	for i, suggestion := range suggestions {
		texts[i] = suggestion.Text
	}
	return strings.Join(texts, ", ")
}
