package holdfast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// The classes of errors. Compare with errors.Is. For the facts of an error use
// errors.As with *Error or *LeaseLostError. Never decide by the text.
var (
	// ErrContended: the lock or the permits were not granted within the wait.
	// Nothing is held.
	ErrContended = errors.New("holdfast: contended")
	// ErrInvalidRequest: the request is wrong. Error.Violations names the fields.
	ErrInvalidRequest = errors.New("holdfast: invalid request")
	// ErrCredential: the server does not know the caller.
	ErrCredential = errors.New("holdfast: credential refused")
	// ErrNotAllowed: the policy of the server refuses the call to this caller.
	ErrNotAllowed = errors.New("holdfast: not allowed")
	// ErrLimitReached: a quota or another bound of the server is reached.
	ErrLimitReached = errors.New("holdfast: limit reached")
	// ErrNoSuchSemaphore: the semaphore has no limit yet. See WithLimit.
	ErrNoSuchSemaphore = errors.New("holdfast: no such semaphore")
	// ErrLimitMismatch: the semaphore has another limit. See Error.Limit, ExpectedLimit and
	// WithExactLimit.
	ErrLimitMismatch = errors.New("holdfast: limit mismatch")
	// ErrNeverFits: more permits are wanted than the semaphore has.
	ErrNeverFits = errors.New("holdfast: more permits than the limit")
	// ErrNoSuchDictionary: the dictionary does not exist.
	ErrNoSuchDictionary = errors.New("holdfast: no such dictionary")
	// ErrDictionaryExists: the dictionary exists with another profile.
	ErrDictionaryExists = errors.New("holdfast: dictionary exists")
	// ErrImportConflict: another import was committed first. This import changed
	// nothing.
	ErrImportConflict = errors.New("holdfast: import conflict")
	// ErrUnavailable: no answer within the time limit, or an answer that does not
	// say whether the call was carried out. A new attempt to acquire is safe: the
	// client releases what comes late.
	ErrUnavailable = errors.New("holdfast: unavailable")
	// ErrClosed: the client or the TypeAhead is closed.
	ErrClosed = errors.New("holdfast: the client is closed")
	// ErrLeaseLost: the lease is over. Every *LeaseLostError matches.
	ErrLeaseLost = errors.New("holdfast: lease lost")
	// ErrSuperseded: a newer query of the TypeAhead has replaced this query.
	ErrSuperseded = errors.New("holdfast: superseded by a newer query")
)

// An Error is an error that a server has sent, or the lack of an answer. Its
// class is one of the variables of this package, for errors.Is.
type Error struct {
	// Reason is an ErrorReason without its prefix, for example CONTENDED. See
	// docs/errors.md. Empty: the error comes from the gRPC library, and Code says
	// more. NO_ANSWER: the client has given up.
	Reason string
	// Code is the gRPC status code.
	Code codes.Code
	// Message is a text for people.
	Message string
	// Metadata has the facts that docs/errors.md lists for the reason, for example
	// holder_id. May be nil.
	Metadata map[string]string
	// Violations has the invalid fields of the request.
	Violations []Violation

	retryDelay *time.Duration
	cause      error
}

// A Violation is one invalid field of a request.
type Violation struct {
	// Field is the path of the field as in the proto files, for example
	// acquire_lock.ttl, because a program may read it.
	Field string
	// Description is a text for people.
	Description string
}

// Error returns the message with the name of this package.
func (e *Error) Error() string {
	return "holdfast: " + e.Message
}

// Is says whether target is the class of the error.
func (e *Error) Is(target error) bool {
	return target == e.class()
}

// Unwrap returns the error of the gRPC library, if there is one.
func (e *Error) Unwrap() error {
	return e.cause
}

// RetryDelay returns the delay before a retry, which may be 0. False: the server
// advises no retry.
func (e *Error) RetryDelay() (time.Duration, bool) {
	if e.retryDelay == nil {
		return 0, false
	}
	return *e.retryDelay, true
}

// HolderID returns one current holder after ErrContended. Empty if the caller may
// not read the name.
func (e *Error) HolderID() string {
	return e.Metadata["holder_id"]
}

// WaiterCount returns the number of waiters after ErrContended.
func (e *Error) WaiterCount() int {
	return e.number("waiter_count")
}

// Limit returns the limit in force after ErrLimitMismatch and ErrNeverFits.
func (e *Error) Limit() int {
	return e.number("limit")
}

// ExpectedLimit returns the limit that the caller demands, after ErrLimitMismatch.
func (e *Error) ExpectedLimit() int {
	return e.number("expected_limit")
}

func (e *Error) number(key string) int {
	n, _ := strconv.Atoi(e.Metadata[key])
	return n
}

var classByReason = map[string]error{
	"CONTENDED":          ErrContended,
	"INVALID_FIELD":      ErrInvalidRequest,
	"REQUEST_MISMATCH":   ErrInvalidRequest,
	"NO_CREDENTIAL":      ErrCredential,
	"BAD_CREDENTIAL":     ErrCredential,
	"NOT_ALLOWED":        ErrNotAllowed,
	"QUOTA_EXCEEDED":     ErrLimitReached,
	"QUEUE_FULL":         ErrLimitReached,
	"STORE_FULL":         ErrLimitReached,
	"NO_SUCH_SEMAPHORE":  ErrNoSuchSemaphore,
	"LIMIT_MISMATCH":     ErrLimitMismatch,
	"NEVER_FITS":         ErrNeverFits,
	"NO_SUCH_DICTIONARY": ErrNoSuchDictionary,
	"DICTIONARY_EXISTS":  ErrDictionaryExists,
	"IMPORT_CONFLICT":    ErrImportConflict,
}

// An error without a class of its own has the class of its code.
var classByCode = map[codes.Code]error{
	codes.Unavailable:       ErrUnavailable,
	codes.DeadlineExceeded:  ErrUnavailable,
	codes.Unauthenticated:   ErrCredential,
	codes.PermissionDenied:  ErrNotAllowed,
	codes.ResourceExhausted: ErrLimitReached,
	codes.InvalidArgument:   ErrInvalidRequest,
}

func (e *Error) class() error {
	if class, ok := classByReason[e.Reason]; ok {
		return class
	}
	return classByCode[e.Code]
}

// errorOfCommand returns the error of one command of a session.
func errorOfCommand(failed *holdfastv1.CommandFailed) *Error {
	e := &Error{
		Reason:   failed.GetReasonText(),
		Code:     codes.Code(failed.GetCode()),
		Message:  ownNames(failed.GetMessage()),
		Metadata: failed.GetMetadata(),
	}
	for _, v := range failed.GetViolations() {
		e.Violations = append(e.Violations, Violation{v.GetField(), ownNames(v.GetDescription())})
	}
	if failed.GetRetryDelay() != nil {
		delay := failed.GetRetryDelay().AsDuration()
		e.retryDelay = &delay
	}
	return e
}

// errorOfCall returns the error of a call or a stream. A stream that ended OK has
// ended without a reason.
func errorOfCall(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	s, _ := status.FromError(err)
	if s.Code() == codes.OK || errors.Is(err, io.EOF) {
		return &Error{Code: codes.Unavailable, Message: "the stream ended without a reason"}
	}
	e := &Error{Code: s.Code(), Message: ownNames(s.Message()), cause: err}
	for _, detail := range s.Details() {
		e.addDetail(detail)
	}
	return e
}

func (e *Error) addDetail(detail any) {
	switch detail := detail.(type) {
	case *errdetails.ErrorInfo:
		if detail.GetDomain() == "holdfast" {
			e.Reason, e.Metadata = detail.GetReason(), detail.GetMetadata()
		}
	case *errdetails.RetryInfo:
		delay := detail.GetRetryDelay().AsDuration()
		e.retryDelay = &delay
	case *errdetails.BadRequest:
		for _, v := range detail.GetFieldViolations() {
			e.Violations = append(e.Violations, Violation{v.GetField(), ownNames(v.GetDescription())})
		}
	}
}

// noAnswer returns the error of a client that waits no longer. last may be nil. If the
// servers refuse the client, the error has the class of the refusal.
func noAnswer(what string, last *Error) *Error {
	e := &Error{Reason: "NO_ANSWER", Code: codes.Unavailable, Message: what}
	if last != nil {
		e.Message += ": " + last.Message
		e.cause = last
		if last.Reason != "" {
			e.Reason = last.Reason
		}
		if last.Code == codes.Unauthenticated || last.Code == codes.PermissionDenied {
			e.Code = last.Code
		}
	}
	return e
}

// gaveUp returns the error of a caller with an ended context. It matches the
// error of the context, and the cause if there is one.
func gaveUp(ctx context.Context, what string) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return fmt.Errorf("holdfast: %s: %w", what, err)
	}
	return fmt.Errorf("holdfast: %s: %w: %w", what, err, cause)
}
