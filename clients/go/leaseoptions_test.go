package holdfast

import (
	"context"
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
		"ttl of 0":          WithTTL(0),
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

func TestAMissingFunctionIsRefusedBeforeAnythingIsAcquired(t *testing.T) {
	client := &Client{engine: &engine{}}
	for _, err := range []error{
		client.Lock("report").Do(context.Background(), nil),
		client.Semaphore("gpu").Do(context.Background(), nil),
		client.Election("boss").Lead(context.Background(), "", nil),
		client.Call(context.Background(), nil),
	} {
		if !errors.Is(err, ErrInvalidRequest) {
			t.Errorf("the error is %v", err)
		}
	}
}
