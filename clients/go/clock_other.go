//go:build !linux && !darwin

package holdfast

import "time"

var processStart = time.Now()

func monotonicNow() instant {
	return instant(time.Since(processStart))
}
