//! Releases.

use std::sync::Arc;
use std::time::Duration;

use holdfast_proto::holdfast::v1::CommandFailed;
use holdfast_proto::holdfast::v1::session_event::Event;
use tokio::sync::oneshot;

use super::engine::{Engine, Phase, Repeat, Timer};
use super::lease_state::LeaseState;
use super::tasks::{ReleaseAnswer, ReleaseTask, Released};
use crate::clock::Time;
use crate::error::Error;
use crate::failure::Failure;
use crate::loss::LossCause;
use crate::numbers::RELEASE_IS_REPEATED_FOR_TTLS;

impl Engine {
    /// Ends the belief in the lease, and releases the lease.
    pub(crate) fn release(&mut self, lease: &Arc<LeaseState>, now: Time) -> ReleaseAnswer {
        let held_ttl = self.leases.get(&lease.id).map(|held| held.ttl);
        if let Some(cause) = lease.let_go(now) {
            self.lease_over(lease, cause, now);
        }
        let too_long = self.held_too_long.remove(&lease.id);
        self.timers
            .remove(too_long.as_ref().map(|too_long| too_long.timer));
        let is_ours = lease.cause() != Some(LossCause::Superseded);
        let answer = if is_ours {
            let ttl = held_ttl.or(too_long.map(|too_long| too_long.ttl));
            self.release_id(&lease.id, ttl.unwrap_or(lease.granted_ttl), now)
        } else {
            answered(Ok(Released::NOT_OURS))
        };
        if self.working.remove(&lease.id).is_some() {
            self.check_empty(now);
        }
        answer
    }

    pub(super) fn release_event(&mut self, id: &str, event: Event, number: u64, now: Time) {
        match event {
            Event::Released(released) => {
                self.settle_release(id, &Ok(Released::of(released)), now);
            }
            Event::Failed(failed) => self.release_failed(id, failed, number, now),
            _ => {}
        }
    }

    /// Releases by `lease_id`. A release that is under way is not begun twice.
    pub(super) fn release_id(&mut self, lease_id: &str, ttl: Duration, now: Time) -> ReleaseAnswer {
        if let Some(task) = self.releases.get_mut(lease_id) {
            return task.wait();
        }
        if let Some(failure) = &self.failure {
            return answered(Err(failure.clone()));
        }
        if self.phase == Phase::Closed {
            return answered(Err(Error::Closed));
        }
        let mut task = ReleaseTask::default();
        // A session renews a lease for at most one ttl after the release.
        let limit = Timer::ReleaseLimit(lease_id.to_owned());
        task.limit = Some(
            self.timers
                .add(now + RELEASE_IS_REPEATED_FOR_TTLS * ttl, limit),
        );
        let answer = task.wait();
        self.releases.insert(lease_id.to_owned(), task);
        if let Some(current) = self.current {
            self.place_release(lease_id, current);
        }
        answer
    }

    /// The error for a caller who waits no longer. The release goes on.
    pub(crate) fn release_is_slow(&self, lease: &LeaseState) -> Error {
        let what = format!("no server answered the release of {:?} in time", lease.name);
        let task = self.releases.get(&lease.id);
        self.no_answer(what, task.and_then(|task| task.last_error.as_ref()))
    }

    pub(super) fn release_is_late(&mut self, id: &str, now: Time) {
        let last = self
            .releases
            .get(id)
            .and_then(|task| task.last_error.as_ref());
        let error = self.no_answer("no server answered the release in time".to_owned(), last);
        self.settle_release(id, &Err(error), now);
    }

    pub(super) fn settle_release(&mut self, id: &str, answer: &Result<Released, Error>, now: Time) {
        if let Some(task) = self.releases.remove(id) {
            self.timers.remove(task.limit);
            task.settle(answer);
        }
        self.check_empty(now);
    }

    fn release_failed(&mut self, id: &str, failed: CommandFailed, number: u64, now: Time) {
        let Some(task) = self.releases.get(id) else {
            return;
        };
        if task.home != Some(number) {
            return;
        }
        let error = Error::from(Failure::of_command(failed));
        let mut attempts = task.attempts;
        let what = Repeat::Release(id.to_owned());
        if !self.repeat_later(what, &mut attempts, &error, number, now) {
            self.settle_release(id, &Err(error), now);
        } else if let Some(task) = self.releases.get_mut(id) {
            task.attempts = attempts;
            task.last_error = Some(error);
        }
    }
}

fn answered(answer: Result<Released, Error>) -> ReleaseAnswer {
    let (sender, receiver) = oneshot::channel();
    let _ = sender.send(answer);
    receiver
}
