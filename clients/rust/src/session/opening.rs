//! One session after the other: opening, leaving, ending.

use std::time::Duration;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::{
    OpenSessionResponse, ReleaseCommand, SessionStart, release_command,
};
use tonic::{Code, Status};

use super::engine::{Action, Engine, Opening, Phase, Timer};
use super::holding::Receipt;
use super::news;
use super::stream::{Owner, Session};
use crate::clock::{Time, span};
use crate::connection::share_of_connect;
use crate::error::Error;
use crate::failure::Failure;
use crate::numbers::{CONNECT_FAILS, CREDENTIAL_LIFE_USED, FIRST_ANSWER, SHORTEST_TOKEN_LIFE};
use crate::pauses;

impl Engine {
    /// Opens a session, and returns its number. None: the client no longer wants one.
    pub(crate) fn open(&mut self, opening: Opening, now: Time) -> Option<u64> {
        self.is_preparing = false;
        if self.phase == Phase::Closed || self.phase == Phase::HalfClosing || self.failure.is_some()
        {
            return None;
        }
        self.address_count = opening.count;
        let first_answer = match self.has_started {
            true => FIRST_ANSWER,
            false => share_of_connect(now.until(self.connect_until), opening.left),
        };
        self.session_count += 1;
        let number = self.session_count;
        let start = SessionStart {
            client_id: self.client_id.clone(),
            session_number: number as i64,
            holder_id: self.settings.holder_id.clone(),
            metadata: self.settings.metadata.clone(),
        };
        // The previous session renews the leases until the next one has them.
        let previous = self.current.replace(number);
        self.sessions.insert(
            number,
            Session::new(number, opening.server, start, first_answer),
        );
        self.timers.remove(self.token_timer.take());
        if let Some(life) = opening.life {
            // A token that has ended already must not open one session after the other.
            let at = now + life.mul_f64(CREDENTIAL_LIFE_USED).max(SHORTEST_TOKEN_LIFE);
            self.token_timer = Some(self.timers.add(at, Timer::TokenEnds { session: number }));
        }
        self.move_to(number, now);
        if let Some(previous) = previous {
            self.half_close_if_quiet(previous, now);
        }
        Some(number)
    }

    /// There was no credential or no certificate. The next attempt may find it.
    pub(crate) fn not_opened(&mut self, error: Error, now: Time) {
        self.is_preparing = false;
        news::not_opened(&error);
        self.failures += 1;
        self.last_error = Some(error);
        let nearest = self.leases.nearest_deadline(now);
        self.open_after(pauses::before_session(self.failures, nearest), now);
    }

    pub(super) fn open_after(&mut self, delay: Duration, now: Time) {
        self.timers.remove(self.open_timer.take());
        if !self.is_preparing {
            self.open_timer = Some(self.timers.add(now + delay, Timer::OpenNext));
        }
    }

    pub(super) fn token_ends(&mut self, number: u64, now: Time) {
        // The session takes new acquires until the next one is open: the next token may be late.
        if self.current == Some(number) {
            self.open_after(Duration::ZERO, now);
        }
    }

    /// Attaches first, the earliest deadline first, then releases and acquires. All this comes before
    /// new acquires.
    fn move_to(&mut self, number: u64, now: Time) {
        for lease in self.leases.by_deadline() {
            self.compare_clock(&lease, now);
            self.attach(&lease, number);
        }
        for id in self.releases.keys().cloned().collect::<Vec<_>>() {
            self.place_release(&id, number);
        }
        for id in self.intents.keys().copied().collect::<Vec<_>>() {
            self.place(id, number, now);
        }
    }

    pub(super) fn place_release(&mut self, lease_id: &str, number: u64) {
        let Some(task) = self.releases.get_mut(lease_id) else {
            return;
        };
        task.home = Some(number);
        if let Some(session) = self.sessions.get_mut(&number) {
            let lease = Some(release_command::Lease::LeaseId(lease_id.to_owned()));
            let command = Command::Release(ReleaseCommand { lease });
            session.run(command, Some(Owner::Release(lease_id.to_owned())));
        }
    }

    /// Takes a message of the server: first the events in their order, and then the renewals.
    pub(crate) fn response(&mut self, number: u64, response: OpenSessionResponse, now: Time) {
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        let Some(t0) = session.answered(response.heartbeat_id) else {
            return self.leave(number, now);
        };
        if let Some(started) = &response.started {
            session.started(started);
            news::started(&session.address);
            self.failures = 0;
            self.refusals = 0;
            self.has_started = true;
            self.last_error = None;
            if let Some(ready) = self.ready.take() {
                let _ = ready.send(Ok(()));
            }
        }
        session.interval(span(response.heartbeat_interval.as_ref()));
        let receipt = Receipt { t0, at: now };
        for event in response.events {
            self.event(number, event, receipt);
        }
        for renewal in &response.renewals {
            self.renewed(number, renewal, receipt);
        }
        let shortest_ttl = self.leases.shortest_ttl();
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        if let Some(leaving) = response.leaving
            && !session.is_leaving
        {
            session.is_leaving = true;
            news::leaving(&session.address);
            if self.current == Some(number) {
                let delay = span(leaving.retry_delay.as_ref()).unwrap_or_default();
                self.open_after(delay, now);
            }
        }
        if let Some(session) = self.sessions.get_mut(&number) {
            session.plan_heartbeat(shortest_ttl);
        }
        self.half_close_if_quiet(number, now);
    }

    /// A session that was followed by another one ends when every command has its answer, and every
    /// lease has ended there.
    fn half_close_if_quiet(&mut self, number: u64, now: Time) {
        let is_quiet = |session: &Session| session.owners.is_empty();
        if self.current != Some(number) && self.sessions.get(&number).is_some_and(is_quiet) {
            self.half_close(number, now);
        }
    }

    /// Ends the stream without a word. The leases continue to the ends of their ttl.
    pub(super) fn leave(&mut self, number: u64, now: Time) {
        self.actions.push(Action::Destroy { session: number });
        let address = self
            .sessions
            .get(&number)
            .map(|session| session.address.clone());
        let what = format!("{} is silent", address.as_deref().unwrap_or("the server"));
        self.end_session(number, Error::no_answer(what, None), None, now);
    }

    /// Takes the end of a stream. None: the status was OK.
    pub(crate) fn ended(&mut self, number: u64, status: Option<&Status>, now: Time) {
        let error = match status {
            Some(status) => Error::of_status(status),
            None => Failure::new("", Code::Unavailable, "the stream ended without a reason").into(),
        };
        self.end_session(number, error, status.map(Status::code), now);
    }

    fn end_session(&mut self, number: u64, error: Error, code: Option<Code>, now: Time) {
        let Some(session) = self.sessions.remove(&number) else {
            return;
        };
        if self.current != Some(number) || self.phase == Phase::Closed {
            return;
        }
        self.last_error = Some(error.clone());
        self.current = None;
        if self.phase == Phase::HalfClosing {
            return self.close_now(now);
        }
        news::ended(&session.address, &error);
        if !session.is_started {
            self.failures += 1;
        }
        if self.is_final(&session, &error, code) {
            return self.fail(&error, now);
        }
        let nearest = self.leases.nearest_deadline(now);
        let advised = error.failure().and_then(Failure::retry_delay);
        self.open_after(pauses::after_end(self.failures, advised, nearest), now);
    }

    /// A next session cannot help. Servers that have accepted this client before may do so again, so
    /// after a first session leases and waits outlast a time in which the client is refused.
    fn is_final(&mut self, session: &Session, error: &Error, code: Option<Code>) -> bool {
        let is_refused = matches!(error, Error::Credential(_)) && !session.is_started;
        self.refusals += u32::from(is_refused);
        match error.reason() {
            _ if self.has_started => false,
            reason if CONNECT_FAILS.contains(&reason) => true,
            // A proxy gives no reason.
            "" if error.code() == Code::PermissionDenied => true,
            _ if is_refused => self.refusals > 1,
            _ => code == Some(Code::Unimplemented) && self.failures >= self.address_count,
        }
    }

    /// The deadlines of the held leases decide how long the work may go on.
    fn fail(&mut self, error: &Error, now: Time) {
        self.failure = Some(error.clone());
        if let Some(ready) = self.ready.take() {
            let _ = ready.send(Err(error.clone()));
        }
        self.fail_tasks(error, now);
    }
}
