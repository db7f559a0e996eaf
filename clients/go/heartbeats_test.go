package holdfast

import (
	"testing"
	"time"
)

func TestAHeartbeatIsKnownUntilALaterOneIsNamed(t *testing.T) {
	var record heartbeatRecord
	for at := range instant(3) {
		record.send(at * 10)
	}
	if sent, ok := record.answer(2); !ok || sent != 10 {
		t.Errorf("heartbeat 2 was sent at %d, %v", sent, ok)
	}
	if sent, ok := record.answer(2); !ok || sent != 10 {
		t.Errorf("heartbeat 2 named again: %d, %v", sent, ok)
	}
	if since, ok := record.unansweredSince(); !ok || since != 20 {
		t.Errorf("unanswered since %d, %v", since, ok)
	}
	for _, id := range []int64{0, 1, 4, -1} {
		if _, ok := record.answer(id); ok {
			t.Errorf("heartbeat %d is believed", id)
		}
	}
	if _, ok := record.answer(3); !ok {
		t.Error("heartbeat 3 is not known")
	}
	if _, ok := record.unansweredSince(); ok {
		t.Error("a heartbeat is unanswered after the answer to the last one")
	}
}

func TestARecordForgetsTheEarliestOfTooManyHeartbeats(t *testing.T) {
	var record heartbeatRecord
	for range maxHeartbeats + 2 {
		record.send(1)
	}
	if _, ok := record.answer(2); ok {
		t.Error("heartbeat 2 is known")
	}
	if _, ok := record.answer(3); !ok {
		t.Error("heartbeat 3 is forgotten")
	}
}

func TestAClientThatWasStoppedJudgesOnePeriodLater(t *testing.T) {
	plan := newHeartbeatPlan()
	plan.started(15 * time.Second)
	const ttl = 30 * time.Second
	now := instant(time.Minute)
	since := now.add(-time.Minute)
	if plan.woke(now.add(-time.Second), now, ttl) || plan.judgeAt(since, ttl) > now {
		t.Error("a timer that is one second late counts as a stop")
	}
	if !plan.woke(now.add(-6*time.Second), now, ttl) {
		t.Error("a timer that is more than one period late does not count as a stop")
	}
	if judge := plan.judgeAt(since, ttl); judge != now.add(5*time.Second) {
		t.Errorf("the server is judged after %v", judge.until(now))
	}
}

func TestThePeriodFollowsTheShortestTTL(t *testing.T) {
	plan := newHeartbeatPlan()
	for ttl, want := range map[time.Duration]time.Duration{
		noTTL:                  5 * time.Second,
		12 * time.Second:       2 * time.Second,
		100 * time.Millisecond: 100 * time.Millisecond / 6,
	} {
		if got := plan.period(ttl); got != want {
			t.Errorf("the period for a ttl of %v is %v", ttl, got)
		}
	}
}
