//go:build linux || darwin

package holdfast

import (
	"time"

	"golang.org/x/sys/unix"
)

var processStart = time.Now()

// monotonicNow also counts the time while the machine was suspended.
func monotonicNow() instant {
	var now unix.Timespec
	if err := unix.ClockGettime(clockWithSuspend, &now); err != nil {
		return instant(time.Since(processStart))
	}
	return instant(now.Nano())
}
