package holdfast

import (
	"math/rand/v2"
	"time"
)

// The pauses have full jitter, so that thousands of clients do not come at once.

// pauseBeforeSession returns the pause before the next session. failures is the
// number of sessions in a row that had no first response, advised is the delay that
// the server advises, or 0, and nearest is the time to the nearest deadline of a held
// lease.
func pauseBeforeSession(failures int, advised, nearest time.Duration) time.Duration {
	longest := longestPauseAfterBreak
	if failures > 0 {
		longest = backoff(failures)
	}
	longest = max(0, min(longest, nearest/pauseAfterBreakIsDeadlineDividedBy))
	return beforeDeadline(max(jitter(longest), min(advised, longestBackoff)), nearest)
}

// pauseBeforeRepeat returns the pause before a command or a call is repeated.
// advised is the delay that the server advises, if any.
func pauseBeforeRepeat(attempts int, advised *time.Duration) time.Duration {
	pause := max(shortestPause, jitter(backoff(attempts)))
	if advised != nil {
		pause = max(pause, min(*advised, longestBackoff))
	}
	return pause
}

// beforeDeadline leaves a share of the time to the deadline of a lease to the next
// attempts to attach to the lease.
func beforeDeadline(pause, left time.Duration) time.Duration {
	return max(shortestPause, min(pause, time.Duration(float64(left)*attachShare)))
}

func backoff(failures int) time.Duration {
	return min(longestBackoff, firstBackoff<<min(failures, 10))
}

func jitter(longest time.Duration) time.Duration {
	return time.Duration(rand.Float64() * float64(longest))
}
