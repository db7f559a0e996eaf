package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// maxTokenCalls bounds the calls of the token source at one time. A source that
// ignores the end of its context would otherwise fill the memory.
const maxTokenCalls = 100

// tokens asks the token source of the user, for sessions and calls.
type tokens struct {
	source func(context.Context) (Token, error) // may be nil
	// running has one item for each call of the source.
	running chan struct{}
}

type fetchedToken struct {
	token Token
	err   error
}

func newTokens(source func(context.Context) (Token, error)) *tokens {
	return &tokens{source, make(chan struct{}, maxTokenCalls)}
}

// fetch waits until ctx ends, even if the source goes on.
func (t *tokens) fetch(ctx context.Context) (Token, error) {
	if t.source == nil {
		return Token{}, nil
	}
	select {
	case t.running <- struct{}{}:
	case <-ctx.Done():
		return Token{}, noToken(errors.New("the earlier calls of the token source do not end"))
	}
	fetched := make(chan fetchedToken, 1)
	go func() {
		defer func() { <-t.running }()
		fetched <- t.ask(ctx)
	}()
	select {
	case f := <-fetched:
		if f.err != nil {
			return Token{}, noToken(f.err)
		}
		return f.token, nil
	case <-ctx.Done():
		return Token{}, noToken(fmt.Errorf("the token source has not answered: %w", context.Cause(ctx)))
	}
}

func (t *tokens) ask(ctx context.Context) (fetched fetchedToken) {
	defer func() {
		if panicked := recover(); panicked != nil {
			fetched = fetchedToken{err: fmt.Errorf("the token source has panicked: %v", panicked)}
		}
	}()
	token, err := t.source(ctx)
	// A file often ends with a line break, which no header may have.
	token.Value = strings.TrimSpace(token.Value)
	if err == nil && strings.ContainsFunc(token.Value, isNoHeader) {
		err = errors.New("its text has a character that no header may have, such as a line break")
	}
	return fetchedToken{token, err}
}

func isNoHeader(r rune) bool {
	return r < ' ' || r > '~'
}

func noToken(err error) *Error {
	return &Error{
		Reason:  "NO_CREDENTIAL",
		Code:    codes.Unauthenticated,
		Message: fmt.Sprintf("the client has no token: %v", err),
		cause:   err,
	}
}

// watchToken opens the next session before the token ends.
func (e *engine) watchToken(token Token, s *session) {
	if e.tokenTimer != nil {
		e.tokenTimer.Stop()
		e.tokenTimer = nil
	}
	if token.ExpiresIn == 0 {
		return
	}
	life := max(shortestTokenLife, time.Duration(float64(token.ExpiresIn)*credentialLifeUsed))
	e.tokenTimer = time.AfterFunc(life, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		// The session takes new acquires until the next one is open: the next token may
		// be late.
		if s == e.current {
			e.openAfter(0)
		}
	})
}
