package holdfast

import "golang.org/x/sys/unix"

const clockWithSuspend = unix.CLOCK_BOOTTIME
