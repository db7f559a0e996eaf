package holdfast

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// noTTL is longer than every ttl.
const noTTL time.Duration = math.MaxInt64

// heldLeases has the leases in which this process believes, and the ids of those
// that are over.
type heldLeases struct {
	held map[string]*heldLease
	over map[string]struct{}
	// overOrder has the ids of over, the earliest first.
	overOrder []string
	// ttls has the number of leases by ttl.
	ttls map[time.Duration]int
}

func newHeldLeases() heldLeases {
	return heldLeases{
		held: map[string]*heldLease{},
		over: map[string]struct{}{},
		ttls: map[time.Duration]int{},
	}
}

func (h *heldLeases) add(l *heldLease) {
	h.held[l.id] = l
	h.countTTL(l.ttl, 1)
}

// isOver says whether the lease is over. Such a lease stays over, whatever a
// session reports.
func (h *heldLeases) isOver(id string) bool {
	_, over := h.over[id]
	return over
}

func (h *heldLeases) end(l *heldLease) {
	if _, held := h.held[l.id]; held {
		delete(h.held, l.id)
		h.countTTL(l.ttl, -1)
	}
	if h.isOver(l.id) {
		return
	}
	h.over[l.id] = struct{}{}
	h.overOrder = append(h.overOrder, l.id)
	if len(h.overOrder) > maxOver {
		delete(h.over, h.overOrder[0])
		h.overOrder = h.overOrder[1:]
	}
}

func (h *heldLeases) changeTTL(l *heldLease, ttl time.Duration) {
	if _, held := h.held[l.id]; !held || ttl <= 0 || ttl == l.ttl {
		return
	}
	h.countTTL(l.ttl, -1)
	l.ttl = ttl
	h.countTTL(ttl, 1)
}

// shortestTTL returns noTTL without a lease.
func (h *heldLeases) shortestTTL() time.Duration {
	shortest := noTTL
	for ttl := range h.ttls {
		shortest = min(shortest, ttl)
	}
	return shortest
}

// nearestDeadline returns never without a lease.
func (h *heldLeases) nearestDeadline() instant {
	nearest := never
	for _, l := range h.held {
		nearest = min(nearest, l.deadlineAt())
	}
	return nearest
}

// byDeadline returns the leases, the earliest deadline first.
func (h *heldLeases) byDeadline() []*heldLease {
	leases := make([]*heldLease, 0, len(h.held))
	for _, l := range h.held {
		leases = append(leases, l)
	}
	slices.SortFunc(leases, func(a, b *heldLease) int { return cmp.Compare(a.deadlineAt(), b.deadlineAt()) })
	return leases
}

func (h *heldLeases) countTTL(ttl time.Duration, change int) {
	h.ttls[ttl] += change
	if h.ttls[ttl] <= 0 {
		delete(h.ttls, ttl)
	}
}
