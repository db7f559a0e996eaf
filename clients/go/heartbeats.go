package holdfast

import "time"

// heartbeatRecord has the times at which the heartbeats of one session were
// sent, from the latest answered heartbeat on. The ids have no gaps.
type heartbeatRecord struct {
	first    int64 // the id of sentAt[0]
	sentAt   []instant
	answered int64
}

// send is called before the heartbeat is passed to the gRPC library. It returns
// the id of the heartbeat.
func (r *heartbeatRecord) send(now instant) int64 {
	if len(r.sentAt) == 0 {
		r.first = 1
	}
	if len(r.sentAt) == maxHeartbeats {
		r.sentAt = r.sentAt[1:]
		r.first++
	}
	r.sentAt = append(r.sentAt, now)
	return r.latest()
}

// answer returns the time of the heartbeat that a response names, and forgets
// all earlier heartbeats, because later responses never name them. False: the
// heartbeat was never sent or is forgotten, so nothing in the response may be
// believed.
func (r *heartbeatRecord) answer(id int64) (instant, bool) {
	if len(r.sentAt) == 0 || id < r.first || id > r.latest() {
		return 0, false
	}
	r.sentAt = r.sentAt[id-r.first:]
	r.first = id
	r.answered = id
	return r.sentAt[0], true
}

func (r *heartbeatRecord) latest() int64 {
	return r.first + int64(len(r.sentAt)) - 1
}

// lastSentAt returns the time of the latest heartbeat, if there is one.
func (r *heartbeatRecord) lastSentAt() (instant, bool) {
	if len(r.sentAt) == 0 {
		return 0, false
	}
	return r.sentAt[len(r.sentAt)-1], true
}

// unansweredSince returns the time of the earliest heartbeat without an answer.
// False: every heartbeat has an answer.
func (r *heartbeatRecord) unansweredSince() (instant, bool) {
	if len(r.sentAt) == 0 || r.latest() == r.answered {
		return 0, false
	}
	return r.sentAt[max(0, r.answered+1-r.first)], true
}

// heartbeatPlan says when the next heartbeat is due, and when a silent server is
// left.
type heartbeatPlan struct {
	interval  time.Duration
	timeout   time.Duration
	judgeFrom instant
}

func newHeartbeatPlan() heartbeatPlan {
	return heartbeatPlan{interval: heartbeatInterval, timeout: firstAnswerTimeout}
}

// started takes the values of the first response. 0: unset.
func (p *heartbeatPlan) started(timeout time.Duration) {
	p.timeout = heartbeatTimeout
	if timeout > 0 {
		p.timeout = timeout
	}
}

// period returns the time between two heartbeats. shortestTTL is noTTL if the
// client holds no lease.
func (p *heartbeatPlan) period(shortestTTL time.Duration) time.Duration {
	return max(shortestPause, min(p.interval, shortestTTL/heartbeatsPerTTL))
}

// patience returns the longest time for which a heartbeat may stay without an
// answer.
func (p *heartbeatPlan) patience(shortestTTL time.Duration) time.Duration {
	return min(p.timeout, shortestTTL/silenceIsTTLDividedBy)
}

// woke is called when the timer fires. If the timer is more than one period
// late, this process was itself stopped, and answers may lie unread. Then the
// server is judged only after one more period.
func (p *heartbeatPlan) woke(planned, now instant, shortestTTL time.Duration) (wasStopped bool) {
	period := p.period(shortestTTL)
	if now.until(planned) <= period {
		return false
	}
	p.judgeFrom = now.add(period)
	return true
}

// judgeAt returns the time at which a server without an answer since then is
// left.
func (p *heartbeatPlan) judgeAt(since instant, shortestTTL time.Duration) instant {
	return max(since.add(p.patience(shortestTTL)), p.judgeFrom)
}
