package holdfast

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// namedServers finds the addresses of `found` for each name, or fails without any.
func namedServers(found *[]string, given ...string) *servers {
	s := newServers(context.Background(), given)
	s.lookUp = func(context.Context, string) ([]netip.Addr, error) {
		var all []netip.Addr
		for _, one := range *found {
			all = append(all, netip.MustParseAddr(one))
		}
		if all == nil {
			return nil, errors.New("not found")
		}
		return all, nil
	}
	return s
}

func take(s *servers, count int) []string {
	var taken []string
	for range count {
		next, _ := s.next(context.Background())
		taken = append(taken, next.address)
	}
	return taken
}

func TestEachAddressOfANameHasItsTurn(t *testing.T) {
	found := []string{"10.0.0.1", "10.0.0.2", "fd00::1"}
	s := namedServers(&found, "servers.test:7")
	first := take(s, 3)
	if next := take(s, 3); !slices.Equal(next, first) {
		t.Errorf("the second round is %v, the first one was %v", next, first)
	}
	// The families take turns, and the resolver's first family begins.
	if first[1] != "[fd00::1]:7" {
		t.Errorf("the second address is %s", first[1])
	}
	slices.Sort(first)
	if want := []string{"10.0.0.1:7", "10.0.0.2:7", "[fd00::1]:7"}; !slices.Equal(first, want) {
		t.Errorf("the first round has %v", first)
	}
}

func TestANameIsLookedUpAnewAndKeepsItsAddressesWhileItIsNotFound(t *testing.T) {
	found := []string{"10.0.0.1"}
	s := namedServers(&found, "servers.test:7")
	take(s, 5)
	found = []string{"10.0.0.1", "10.0.0.9"}
	if next := take(s, 2); !slices.Equal(next, []string{"10.0.0.9:7", "10.0.0.1:7"}) {
		t.Errorf("after the name has changed: %v", next)
	}
	found = nil
	if next := take(s, 1); next[0] != "10.0.0.9:7" {
		t.Errorf("while the name is not found: %v", next)
	}
}

func TestAnUnknownNameIsLeftToGRPC(t *testing.T) {
	var found []string
	s := namedServers(&found, "servers.test:7", "[::1]:8", "localhost:9")
	for _, want := range []string{"servers.test:7", "[::1]:8", "localhost:9", "servers.test:7"} {
		if next, _ := s.next(context.Background()); next != (target{given: want}) {
			t.Errorf("%v is taken, and not %s", next, want)
		}
	}
}

func TestALateLookupKeepsNobodyWaitingAndServesTheNextConnection(t *testing.T) {
	s := newServers(context.Background(), []string{"servers.test:7"})
	answer, begun := make(chan struct{}), make(chan struct{}, 9)
	s.lookUp = func(context.Context, string) ([]netip.Addr, error) {
		begun <- struct{}{}
		<-answer
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	}
	if next, _ := s.next(context.Background()); next.address != "" {
		t.Errorf("%v is taken before the lookup has ended", next)
	}
	s.next(canceled())
	if len(begun) != 1 {
		t.Errorf("%d lookups of one name run at once", len(begun))
	}
	close(answer)
	if next, _ := s.next(context.Background()); next.address != "10.0.0.1:7" {
		t.Errorf("%v is taken after the lookup", next)
	}
}

func TestTheAddressesShareTheTimeOfConnect(t *testing.T) {
	for _, one := range []struct {
		left      time.Duration
		addresses int
		want      time.Duration
	}{
		{10 * time.Second, 1, 5 * time.Second},
		{9 * time.Second, 3, 3 * time.Second},
		{9 * time.Second, 100, time.Second},
		{-time.Second, 2, time.Second},
	} {
		if got := shareOfConnect(one.left, one.addresses); got != one.want {
			t.Errorf("%v for %d addresses: %v, not %v", one.left, one.addresses, got, one.want)
		}
	}
	found := []string{"10.0.0.1", "10.0.0.2"}
	s := namedServers(&found, "servers.test:7", "127.0.0.1:8")
	for _, want := range []int{3, 2, 1, 3} {
		if _, left := s.next(context.Background()); left != want {
			t.Errorf("%d addresses are left, not %d", left, want)
		}
	}
}
