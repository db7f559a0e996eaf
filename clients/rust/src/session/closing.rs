//! The end of a client.

use super::engine::{Action, Engine, Phase, Timer};
use crate::clock::Time;
use crate::error::Error;
use crate::loss::LossCause;
use crate::numbers::CLOSE;

impl Engine {
    /// Ends the belief in all leases, cancels all waits, and waits for the answers up to 5 s. A lease is
    /// released when its work has ended. The lease of work that does not end in this time, or that has
    /// lost its lease by `max_hold`, is left to the end of its ttl.
    pub(crate) fn close(&mut self, now: Time) {
        if self.phase != Phase::Running {
            return;
        }
        self.phase = Phase::Finishing;
        for id in self.intents.keys().copied().collect::<Vec<_>>() {
            self.abandon(id, Error::Closed, now);
        }
        for lease in self.leases.by_deadline() {
            self.end_lease(&lease, LossCause::Closed, now);
            if lease.has_work() {
                self.working.insert(lease.id.clone(), lease);
            } else {
                self.release(&lease, now);
            }
        }
        // Work after its `max_hold` may hang, and has lost its lease, so nobody waits for this work.
        let too_long = self.held_too_long.values();
        let too_long: Vec<_> = too_long.map(|too_long| too_long.lease.clone()).collect();
        for lease in too_long.iter().filter(|lease| !lease.has_work()) {
            self.release(lease, now);
        }
        self.timers.add(now + CLOSE, Timer::CloseLimit);
        self.check_empty(now);
    }

    /// Goes on with `close` when every command has its answer.
    pub(super) fn check_empty(&mut self, now: Time) {
        let is_empty =
            self.intents.is_empty() && self.releases.is_empty() && self.working.is_empty();
        if self.phase == Phase::Finishing && is_empty {
            self.end_last_session(now);
        }
    }

    pub(super) fn end_last_session(&mut self, now: Time) {
        self.phase = Phase::HalfClosing;
        match self.current.and_then(|number| self.sessions.get(&number)) {
            Some(session) if session.is_started => self.half_close(session.number, now),
            _ => self.close_now(now),
        }
    }

    /// Leaves no session and no timer. A lease without an answer is left to the end of its ttl.
    pub(crate) fn close_now(&mut self, now: Time) {
        self.phase = Phase::Closed;
        for (session, _) in std::mem::take(&mut self.sessions) {
            self.actions.push(Action::Destroy { session });
        }
        self.current = None;
        self.fail_tasks(&Error::Closed, now);
        for lease in self.leases.by_deadline() {
            self.end_lease(&lease, LossCause::Closed, now);
        }
        self.working.clear();
        self.timers.clear();
        self.ready = None;
    }

    /// No next session will come.
    pub(super) fn fail_tasks(&mut self, error: &Error, now: Time) {
        self.abandoned_count = 0;
        for (_, mut intent) in std::mem::take(&mut self.intents) {
            self.timers.remove(intent.limit);
            self.actions
                .extend(intent.acquire.on_queued.take().map(Action::Forget));
            if let Some(waiter) = intent.waiter.take() {
                let _ = waiter.send(Err(error.clone()));
            }
        }
        for (_, release) in std::mem::take(&mut self.releases) {
            self.timers.remove(release.limit);
            release.settle(&Err(error.clone()));
        }
        self.check_empty(now);
    }
}
