package main

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"

	holdfast "holdfast.dev/go"
)

var classes = []struct {
	class error
	name  string
}{
	{holdfast.ErrLeaseLost, "lease_lost"},
	{holdfast.ErrClosed, "closed"},
	{holdfast.ErrContended, "contended"},
	{holdfast.ErrInvalidRequest, "invalid_request"},
	{holdfast.ErrCredential, "credential"},
	{holdfast.ErrNotAllowed, "not_allowed"},
	{holdfast.ErrLimitReached, "limit_reached"},
	{holdfast.ErrNoSuchSemaphore, "no_such_semaphore"},
	{holdfast.ErrLimitMismatch, "limit_mismatch"},
	{holdfast.ErrNeverFits, "never_fits"},
	{holdfast.ErrNoSuchDictionary, "no_such_dictionary"},
	{holdfast.ErrDictionaryExists, "dictionary_exists"},
	{holdfast.ErrImportConflict, "import_conflict"},
	{holdfast.ErrUnavailable, "unavailable"},
}

// describe returns the error of a command, or that the command was cancelled.
func describe(ctx context.Context, err error) result {
	var lost *holdfast.LeaseLostError
	var failed *holdfast.Error
	isLost := errors.As(err, &lost)
	if ctx.Err() != nil && !isLost && errors.Is(err, context.Canceled) {
		return result{"cancelled": true}
	}
	// An error of no class is the body's own.
	description := result{
		"class": "other", "reason": "", "code": int(codes.Unknown), "inner": err.Error(), "text": err.Error(),
	}
	for _, c := range classes {
		if errors.Is(err, c.class) {
			description["class"], description["inner"] = c.name, ""
			break
		}
	}
	switch {
	case isLost:
		description["reason"] = "LEASE_LOST"
		description["code"] = int(codes.Aborted)
		description["cause"] = string(lost.Cause)
		if lost.Err != nil {
			description["inner"] = lost.Err.Error()
		}
	case errors.As(err, &failed):
		description["reason"] = failed.Reason
		description["code"] = int(failed.Code)
		if errors.Is(err, holdfast.ErrLimitMismatch) {
			description["limit"], description["expected_limit"] = failed.Limit(), failed.ExpectedLimit()
		}
	case errors.Is(err, holdfast.ErrClosed):
		description["reason"] = "CLOSED"
		description["code"] = int(codes.Canceled)
	}
	return result{"error": description}
}
