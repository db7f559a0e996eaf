//! When a heartbeat is due, and which heartbeats are without an answer.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Time;
use crate::numbers::{
    HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT, HEARTBEATS_PER_TTL, MAX_HEARTBEATS_REMEMBERED,
    SILENCE_IS_TTL_DIVIDED_BY,
};

/// The times at which the heartbeats of one session were sent.
#[derive(Debug, Default)]
pub(super) struct HeartbeatRecord {
    /// The ids and times of the answered heartbeat and of all later ones.
    sent: VecDeque<(i64, Time)>,
    latest: i64,
    answered: i64,
}

impl HeartbeatRecord {
    /// Call before the heartbeat is passed to the gRPC library. Returns the heartbeat's id.
    pub(super) fn send(&mut self, now: Time) -> i64 {
        self.latest += 1;
        self.sent.push_back((self.latest, now));
        if self.sent.len() > MAX_HEARTBEATS_REMEMBERED {
            self.sent.pop_front();
        }
        self.latest
    }

    /// The time of the heartbeat that a response names. Forgets all earlier heartbeats, because later
    /// responses never name them. None: the heartbeat was never sent or is forgotten, so nothing in
    /// the response may be believed.
    pub(super) fn answer(&mut self, id: i64) -> Option<Time> {
        let index = self.sent.iter().position(|&(sent, _)| sent == id)?;
        self.sent.drain(..index);
        self.answered = id;
        self.sent.front().map(|&(_, t0)| t0)
    }

    pub(super) fn last_sent(&self) -> Option<Time> {
        self.sent.back().map(|&(_, t0)| t0)
    }

    /// The time of the earliest heartbeat without an answer. None: every heartbeat has an answer.
    pub(super) fn unanswered_since(&self) -> Option<Time> {
        let answered = self.answered;
        self.sent
            .iter()
            .find(|&&(id, _)| id > answered)
            .map(|&(_, t0)| t0)
    }
}

/// When the next heartbeat is due, and when a silent server is left.
#[derive(Debug)]
pub(super) struct HeartbeatPlan {
    interval: Duration,
    timeout: Duration,
    judge_from: Time,
}

impl HeartbeatPlan {
    pub(super) fn new(first_answer: Duration) -> HeartbeatPlan {
        HeartbeatPlan {
            interval: HEARTBEAT_INTERVAL,
            timeout: first_answer,
            judge_from: Time::MIN,
        }
    }

    /// Takes the timeout of the first response.
    pub(super) fn started(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout.unwrap_or(HEARTBEAT_TIMEOUT);
    }

    /// Takes the interval of a response. None: as before.
    pub(super) fn interval(&mut self, interval: Option<Duration>) {
        if let Some(interval) = interval.filter(|interval| !interval.is_zero()) {
            self.interval = interval;
        }
    }

    /// The time between two heartbeats. `shortest_ttl` is None if the session has no lease.
    pub(super) fn period(&self, shortest_ttl: Option<Duration>) -> Duration {
        shortest_ttl.map_or(self.interval, |ttl| {
            self.interval.min(ttl / HEARTBEATS_PER_TTL)
        })
    }

    /// The longest time for which a heartbeat may stay without an answer.
    fn patience(&self, shortest_ttl: Option<Duration>) -> Duration {
        shortest_ttl.map_or(self.timeout, |ttl| {
            self.timeout.min(ttl / SILENCE_IS_TTL_DIVIDED_BY)
        })
    }

    /// The next time at which a heartbeat or a judgement is due.
    pub(super) fn wake_at(&self, record: &HeartbeatRecord, shortest_ttl: Option<Duration>) -> Time {
        let heartbeat = record
            .last_sent()
            .map_or(Time::MIN, |last| last + self.period(shortest_ttl));
        heartbeat.min(self.judge_at(record, shortest_ttl))
    }

    /// Call when the timer fires. If the timer is more than one period late, this process was itself
    /// stopped, and answers may lie unread. Then the server is judged only after one more period.
    pub(super) fn woke(&mut self, planned: Time, now: Time, shortest_ttl: Option<Duration>) {
        let period = self.period(shortest_ttl);
        if now - planned > period {
            self.judge_from = now + period;
        }
    }

    pub(super) fn is_silent(
        &self,
        now: Time,
        record: &HeartbeatRecord,
        shortest_ttl: Option<Duration>,
    ) -> bool {
        now >= self.judge_at(record, shortest_ttl)
    }

    fn judge_at(&self, record: &HeartbeatRecord, shortest_ttl: Option<Duration>) -> Time {
        record.unanswered_since().map_or(Time::MAX, |since| {
            (since + self.patience(shortest_ttl)).max(self.judge_from)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::FIRST_ANSWER;

    const START: Time = Time::MIN;

    fn at(seconds: u64) -> Time {
        // Far from both ends of the scale.
        START + Duration::from_secs(4_000_000_000) + Duration::from_secs(seconds)
    }

    #[test]
    fn an_answer_gives_the_time_of_the_named_heartbeat_and_forgets_the_earlier_ones() {
        let mut record = HeartbeatRecord::default();
        let ids: Vec<i64> = (0..4).map(|second| record.send(at(second))).collect();
        assert_eq!(record.answer(ids[2]), Some(at(2)));
        assert_eq!(record.answer(ids[1]), None);
        assert_eq!(record.unanswered_since(), Some(at(3)));
        assert_eq!(record.answer(99), None);
    }

    #[test]
    fn at_most_a_thousand_heartbeats_are_remembered() {
        let mut record = HeartbeatRecord::default();
        for second in 0..3000 {
            record.send(at(second));
        }
        assert_eq!(record.sent.len(), MAX_HEARTBEATS_REMEMBERED);
        assert_eq!(record.answer(1), None);
    }

    #[test]
    fn a_short_ttl_brings_heartbeats_and_judgement_forward() {
        let mut plan = HeartbeatPlan::new(FIRST_ANSWER);
        plan.started(Some(Duration::from_secs(15)));
        let mut record = HeartbeatRecord::default();
        record.send(at(0));
        let ttl = Some(Duration::from_secs(12));
        assert_eq!(plan.wake_at(&record, ttl), at(2));
        assert!(!plan.is_silent(at(2), &record, ttl));
        assert!(plan.is_silent(at(3), &record, ttl));
        assert!(!plan.is_silent(at(14), &record, None));
    }

    #[test]
    fn a_process_that_was_stopped_judges_the_server_one_period_later() {
        let mut plan = HeartbeatPlan::new(FIRST_ANSWER);
        let mut record = HeartbeatRecord::default();
        record.send(at(0));
        plan.woke(at(5), at(60), None);
        assert!(!plan.is_silent(at(60), &record, None));
        assert!(plan.is_silent(at(65), &record, None));
    }
}
