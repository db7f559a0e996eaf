package holdfast

import (
	"math"
	"time"
)

// instant is a time of the client's own monotonic clock. Steps of the wall
// clock do not change it, and it counts the time of a suspend where the platform
// has a clock that does.
type instant int64

// never is later than every other instant.
const never instant = math.MaxInt64

func (t instant) add(d time.Duration) instant {
	if t == never || (d > 0 && t > never-instant(d)) {
		return never
	}
	return t + instant(d)
}

// until returns the time from now to t, which is negative after t.
func (t instant) until(now instant) time.Duration {
	if t == never {
		return math.MaxInt64
	}
	return time.Duration(t - now)
}

// after returns the sum of two times, at most the longest time there is.
func after(d, more time.Duration) time.Duration {
	if d > math.MaxInt64-more {
		return math.MaxInt64
	}
	return d + more
}

// deadline returns the time until which a client may believe in a lease.
// Without a ttl or an offset the deadline has passed.
func deadline(r receipt, offset, ttl time.Duration) instant {
	return min(r.sent.add(offset), r.at.add(ttl))
}

// receipt has the times of a response on the own clock.
type receipt struct {
	// sent is the send of the heartbeat that the response names.
	sent instant
	at   instant
}
