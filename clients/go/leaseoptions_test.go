package holdfast

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestAnOptionThatNoLeaseCanHaveIsAnInvalidRequest(t *testing.T) {
	for name, option := range map[string]LeaseOption{
		"max_hold of 0":     WithMaxHold(0),
		"negative max_hold": WithMaxHold(-time.Second),
		"negative ttl":      WithTTL(-time.Second),
		"negative wait":     WithWait(-time.Second),
		"binary metadata":   WithLeaseMetadata(map[string]string{"job": "\xff"}),
		"huge metadata":     WithLeaseMetadata(map[string]string{"job": strings.Repeat("x", maxTextBytes)}),
	} {
		t.Run(name, func(t *testing.T) {
			w := report
			option(&w)
			err := w.check()
			var failed *Error
			if !errors.Is(err, ErrInvalidRequest) || !errors.As(err, &failed) || len(failed.Violations) != 1 {
				t.Errorf("check answered %v", err)
			}
		})
	}
}

func TestAWaitOfZeroIsAllowed(t *testing.T) {
	w := report
	WithWait(0)(&w)
	if err := w.check(); err != nil {
		t.Error(err)
	}
}
