package holdfast

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"
)

func TestATokenGoesToAnotherMachineOnlyWithTLS(t *testing.T) {
	quick := []Option{
		WithConnectTimeout(time.Millisecond), WithToken("secret"),
		WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	}
	for address, isRefused := range map[string]bool{
		"192.0.2.1:50051": true, "example.com:50051": true, "[2001:db8::1]:50051": true, "no-port": true,
		"localhost:50051": false, "127.0.0.2:50051": false, "[::1]:50051": false, "[::ffff:127.0.0.1]:50051": false,
	} {
		_, err := Connect(context.Background(), []string{"127.0.0.1:1", address}, quick...)
		var failed *Error
		if !errors.As(err, &failed) || (failed.Reason == "TOKEN_WITHOUT_TLS") != isRefused {
			t.Errorf("%s: error %v", address, err)
		}
		_, err = Connect(context.Background(), []string{address}, append(quick, WithInsecureToken())...)
		if !errors.As(err, &failed) || failed.Reason == "TOKEN_WITHOUT_TLS" {
			t.Errorf("%s with WithInsecureToken: error %v", address, err)
		}
	}
	if _, err := Connect(context.Background(), []string{"192.0.2.1:1"}, quick[0], quick[2]); errors.Is(err, ErrCredential) {
		t.Errorf("without a token: error %v", err)
	}
}

func TestAddressesMayBeListsWithCommas(t *testing.T) {
	for _, test := range []struct {
		given []string
		want  []string
	}{
		{[]string{"a:1"}, []string{"a:1"}},
		{[]string{"a:1, b:2", "c:3"}, []string{"a:1", "b:2", "c:3"}},
		{nil, nil},
		{[]string{""}, nil},
		{[]string{"a:1,"}, nil},
	} {
		addresses, err := splitAddresses(test.given)
		if !slices.Equal(addresses, test.want) || (err == nil) != (test.want != nil) {
			t.Errorf("%q: addresses %q, error %v", test.given, addresses, err)
		}
	}
}
