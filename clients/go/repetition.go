package holdfast

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
)

// A repetition decides whether a failed attempt is repeated. All calls and streams
// share these rules.
type repetition struct {
	// isCounted: a second run does harm.
	isCounted bool
	failures  int // failed attempts in a row
	refusals  int // refused credentials in a row
}

// answered is called after an answer, so that the next failure is a first one.
func (r *repetition) answered() {
	r.failures, r.refusals = 0, 0
}

// pauseAfter returns the pause before the next attempt. False: a repetition does not
// help. wasSent is false if the attempt has failed before it reached the network.
func (r *repetition) pauseAfter(failed *Error, wasSent bool) (pause time.Duration, again bool) {
	if wasSent && slices.Contains(credentialIsFetchedOnceMore, failed.Reason) {
		r.refusals++
		return 0, r.refusals == 1
	}
	if wasSent && !r.isRepeated(failed) {
		return 0, false
	}
	r.failures++
	return pauseBeforeRepeat(r.failures, failed.retryDelay), true
}

func (r *repetition) isRepeated(failed *Error) bool {
	switch {
	case slices.Contains(callIsRepeated, failed.Reason):
		return true
	case r.isCounted:
		return false
	case slices.Contains(idempotentCallIsRepeated, failed.Reason):
		return true
	case isBroken(failed):
		return true
	case failed.Reason != "":
		return false
	default:
		// A reset stream is INTERNAL, and so is a message that can never be encoded:
		// repeated once.
		return failed.Code == codes.Internal && r.failures == 0
	}
}

// isBroken says whether the next attempt needs another connection. A status without
// a reason comes from the gRPC library or a proxy. An unknown reason is treated as its
// code says.
func isBroken(failed *Error) bool {
	return failed.Code == codes.Unavailable || isLate(failed)
}

func isLate(failed *Error) bool {
	return failed.Reason == "" && failed.Code == codes.DeadlineExceeded
}

// attemptTime returns the longest time of one attempt. A call that may be repeated
// leaves a part of its time to the next attempts, because the server may be silent.
func attemptTime(left time.Duration, isCounted bool) time.Duration {
	if isCounted {
		return left
	}
	return min(left, max(callSilence, time.Duration(float64(left)*attemptShare)))
}
