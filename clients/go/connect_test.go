package holdfast

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

func TestConnectWithoutAContextPanicsBeforeAGoroutineBegins(t *testing.T) {
	before := runtime.NumGoroutine()
	defer func() {
		if recover() == nil {
			t.Error("Connect has not panicked")
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines after Connect, %d before", after, before)
		}
	}()
	var none context.Context
	_, _ = Connect(none, []string{"127.0.0.1:1"}, WithToken("secret"))
}

func TestConnectReturnsTheErrorOfAContextThatHasEnded(t *testing.T) {
	why := errors.New("the service stops")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	_, err := Connect(ctx, []string{"127.0.0.1:1"})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("Connect returned %v, without the error or the cause of the context", err)
	}
}
