package holdfast

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"
)

// lookupTimeout is the longest wait of a connection for the addresses of a name.
const lookupTimeout = time.Second

// servers are the servers of one store. A name may mean several of them, as that of a
// headless Service does. Each address has its turn, because a process that hangs still
// accepts connections, and gRPC would come back to it.
type servers struct {
	given  []string
	lookUp func(ctx context.Context, host string) ([]netip.Addr, error)
	// ctx ends the lookups.
	ctx context.Context

	mu    sync.Mutex
	names map[string]*hostName
	// turns has the turn in which an address was last taken. Absent: never.
	turns map[target]int64
	turn  int64
}

// A hostName is the host of a given address.
type hostName struct {
	// addresses are those of the last lookup that has found any, in random order.
	addresses []netip.Addr
	// ended is closed at the end of the lookup that runs. nil: none runs.
	ended chan struct{}
}

// A target is one address of a server.
type target struct {
	// given is the "host:port" of the caller. A certificate must be valid for it.
	given string
	// address is the "ip:port" to connect to. Empty: gRPC looks the host up.
	address string
}

func (t target) String() string {
	if t.address == "" {
		return t.given
	}
	return t.given + " at " + t.address
}

func newServers(ctx context.Context, given []string) *servers {
	return &servers{
		given: given,
		ctx:   ctx,
		lookUp: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		names: map[string]*hostName{},
		turns: map[target]int64{},
	}
}

// next looks all names up anew, and returns the address that was not taken for the
// longest time, with the number of addresses that were never taken before, itself
// included, or of all after the first round. A lookup that fails or takes longer than
// 1 s leaves the addresses of the one before.
func (s *servers) next(ctx context.Context) (next target, left int) {
	limited, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	for _, ended := range s.lookUpAll() {
		select {
		case <-ended:
		case <-limited.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.targets()
	turns := make(map[target]int64, len(all))
	next = all[0]
	for _, one := range all {
		turn := s.turns[one]
		turns[one] = turn
		if turn < s.turns[next] {
			next = one
		}
		if turn == 0 {
			left++
		}
	}
	if left == 0 {
		left = len(all)
	}
	s.turn++
	turns[next] = s.turn
	s.turns = turns
	return next, left
}

// count returns the number of known addresses.
func (s *servers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.targets())
}

func (s *servers) targets() []target {
	var all []target
	for _, given := range s.given {
		_, port, _ := net.SplitHostPort(given)
		name := s.names[given]
		if name == nil || len(name.addresses) == 0 {
			// The error of gRPC says why the name is not found.
			all = append(all, target{given: given})
			continue
		}
		for _, address := range name.addresses {
			all = append(all, target{given, net.JoinHostPort(address.String(), port)})
		}
	}
	return all
}

// lookUpAll begins a lookup of each name, unless one runs already, and returns the
// channels that are closed at their ends.
func (s *servers) lookUpAll() []chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []chan struct{}
	for _, given := range s.given {
		if !isName(given) {
			continue
		}
		name := s.names[given]
		if name == nil {
			name = &hostName{}
			s.names[given] = name
		}
		if name.ended == nil {
			name.ended = make(chan struct{})
			go s.lookUpOne(given, name, name.ended)
		}
		all = append(all, name.ended)
	}
	return all
}

// lookUpOne may end after its caller has gone on. The next one has its addresses.
func (s *servers) lookUpOne(given string, name *hostName, ended chan struct{}) {
	defer close(ended)
	host, _, _ := net.SplitHostPort(given)
	ctx, cancel := context.WithTimeout(s.ctx, connectTimeout)
	defer cancel()
	found, err := s.lookUp(ctx, host)
	s.mu.Lock()
	defer s.mu.Unlock()
	name.ended = nil
	if err == nil && len(found) > 0 && !isSameSet(found, name.addresses) {
		name.addresses = shuffled(found)
	}
}

func isSameSet(found, known []netip.Addr) bool {
	return len(found) == len(known) && !slices.ContainsFunc(found, func(one netip.Addr) bool {
		return !slices.Contains(known, one.Unmap())
	})
}

// shuffled mixes the addresses, so that clients spread. The two families take turns and the
// resolver's first one stays first, because one of them may lead nowhere.
func shuffled(found []netip.Addr) []netip.Addr {
	var families [2][]netip.Addr
	first := found[0].Unmap().Is6()
	for _, at := range rand.Perm(len(found)) {
		address := found[at].Unmap()
		family := 1
		if address.Is6() == first {
			family = 0
		}
		families[family] = append(families[family], address)
	}
	var mixed []netip.Addr
	for i := range found {
		for _, family := range families {
			if i < len(family) {
				mixed = append(mixed, family[i])
			}
		}
	}
	return mixed
}

// isName says whether the host of the address is looked up here. Both addresses of
// localhost are those of one server, and a proxy looks names up itself.
func isName(given string) bool {
	host, _, err := net.SplitHostPort(given)
	if err != nil || isLoopback(given) {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	request := &http.Request{URL: &url.URL{Scheme: "https", Host: given}}
	proxy, err := http.ProxyFromEnvironment(request)
	return err == nil && proxy == nil
}

// shareOfConnect returns the longest wait for the first answer of one server, if connect has
// this time left for so many addresses.
func shareOfConnect(left time.Duration, addresses int) time.Duration {
	share := max(shortestFirstAnswer, left/time.Duration(max(1, addresses)))
	return min(firstAnswerTimeout, share)
}
