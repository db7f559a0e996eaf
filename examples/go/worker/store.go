package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"holdfast.dev/go/examples/internal/example"
)

// A store that hangs must not hold the lock for ever.
var client = http.Client{Timeout: 10 * time.Second}

// write adds a text to the protected store, which refuses a token that is smaller
// than the token of an earlier write.
func write(ctx context.Context, store string, token int64, text string) error {
	body, err := json.Marshal(map[string]any{"token": token, "text": text})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, store, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx) // the loss of the lease
		}
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusConflict:
		fmt.Printf("ledger refused token %d: token %s has written\n", token, answer)
		return example.ErrStopped
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("the ledger answered %s", response.Status)
	}
	return nil
}
