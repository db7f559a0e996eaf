package holdfast

import (
	"fmt"

	holdfastv1 "holdfast.dev/go/holdfast/v1"
)

// A LossCause says why a lease is over.
type LossCause string

// The causes. The client itself notices CauseDeadline, CauseMaxHold and
// CauseClosed, and the server tells the others.
const (
	// CauseDeadline: the deadline on the own clock passed without a renewal.
	CauseDeadline LossCause = "DEADLINE"
	// CauseMaxHold: the lease was held for longer than WithMaxHold allows.
	CauseMaxHold LossCause = "MAX_HOLD"
	// CauseClosed: the client was closed while the lease was held.
	CauseClosed LossCause = "CLOSED"
	// CauseNotHeld: the server has answered that the lease is not held.
	CauseNotHeld LossCause = "LEASE_NOT_HELD"
	// CauseExpired: the lease was not renewed in time.
	CauseExpired LossCause = "EXPIRED"
	// CauseRevoked: an operator or a new policy revoked the lease.
	CauseRevoked LossCause = "REVOKED"
	// CauseStoreReset: the store lost the lease.
	CauseStoreReset LossCause = "STORE_RESET"
	// CauseStoreUnavailable: the store was not reached in time.
	CauseStoreUnavailable LossCause = "STORE_UNAVAILABLE"
	// CauseReleased: the lease was released. It is a loss if this process did not ask
	// for the release.
	CauseReleased LossCause = "RELEASED"
	// CauseSuperseded: another process attached to the lease.
	CauseSuperseded LossCause = "SUPERSEDED"
	// CauseUnrecognized: a newer server ended the lease for an unknown reason.
	CauseUnrecognized LossCause = "UNRECOGNIZED"
)

var lossTexts = map[LossCause]string{
	CauseDeadline:         "its deadline passed without a renewal",
	CauseMaxHold:          "it was held for longer than the maximum of the caller",
	CauseClosed:           "the client was closed",
	CauseNotHeld:          "the server no longer knows it",
	CauseExpired:          "it was not renewed in time",
	CauseRevoked:          "an operator or a new policy revoked it",
	CauseStoreReset:       "the store lost it",
	CauseStoreUnavailable: "the store was not reached in time",
	CauseReleased:         "it was released",
	CauseSuperseded:       "another process attached to it",
	CauseUnrecognized:     "a newer server ended it for an unknown reason",
}

// A LeaseLostError says that a lease is over: stop the work that it protects.
// errors.Is(err, ErrLeaseLost) is true for it.
type LeaseLostError struct {
	// Name is the name of the lock or semaphore.
	Name  string
	Cause LossCause
	// Err is the error with which the work ended after the loss. May be nil.
	Err error
}

// Error says why the lease is over, and how the work ended.
func (e *LeaseLostError) Error() string {
	text := fmt.Sprintf("holdfast: the lease of %q is over: %s", e.Name, lossTexts[e.Cause])
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is makes errors.Is(err, ErrLeaseLost) true.
func (e *LeaseLostError) Is(target error) bool {
	return target == ErrLeaseLost
}

// Unwrap returns the error of the work.
func (e *LeaseLostError) Unwrap() error {
	return e.Err
}

// NoticedByClient says whether the client noticed the loss by its own clock, and
// not by an answer of the server.
func (e *LeaseLostError) NoticedByClient() bool {
	return e.Cause == CauseDeadline || e.Cause == CauseMaxHold || e.Cause == CauseClosed
}

var causeByEnd = map[holdfastv1.SessionEndCause]LossCause{
	holdfastv1.SessionEndCause_SESSION_END_CAUSE_EXPIRED:           CauseExpired,
	holdfastv1.SessionEndCause_SESSION_END_CAUSE_REVOKED:           CauseRevoked,
	holdfastv1.SessionEndCause_SESSION_END_CAUSE_STORE_RESET:       CauseStoreReset,
	holdfastv1.SessionEndCause_SESSION_END_CAUSE_STORE_UNAVAILABLE: CauseStoreUnavailable,
	holdfastv1.SessionEndCause_SESSION_END_CAUSE_RELEASED:          CauseReleased,
	holdfastv1.SessionEndCause_SESSION_END_CAUSE_SUPERSEDED:        CauseSuperseded,
}

func causeOfEnd(cause holdfastv1.SessionEndCause) LossCause {
	if known, ok := causeByEnd[cause]; ok {
		return known
	}
	return CauseUnrecognized
}

// earlyEnds are the answers to a release after which others may have held the
// lease before its deadline. An expired lease ends after the deadline.
var earlyEnds = map[holdfastv1.LossCause]LossCause{
	holdfastv1.LossCause_LOSS_CAUSE_REVOKED:     CauseRevoked,
	holdfastv1.LossCause_LOSS_CAUSE_STORE_RESET: CauseStoreReset,
}
