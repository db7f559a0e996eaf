package holdfast

import "golang.org/x/sys/unix"

// The monotonic clock of macOS counts the time of a suspend, unlike that of Go.
const clockWithSuspend = unix.CLOCK_MONOTONIC
