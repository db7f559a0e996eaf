//! Commands that are sent again after a pause.

use tonic::Code;

use super::engine::{Engine, Repeat, Timer};
use crate::clock::Time;
use crate::error::Error;
use crate::numbers::COMMAND_IS_REPEATED;
use crate::pauses;

impl Engine {
    /// False: a repetition does not help. For an unknown reason the code decides. A session that leaves
    /// gets no repetition, because the next one sends all.
    pub(super) fn repeat_later(
        &mut self,
        what: Repeat,
        attempts: &mut u32,
        error: &Error,
        session: u64,
        now: Time,
    ) -> bool {
        let is_unavailable = error.code() == Code::Unavailable;
        if !is_unavailable && !COMMAND_IS_REPEATED.contains(&error.reason()) {
            return false;
        }
        *attempts += 1;
        let is_leaving = self
            .sessions
            .get(&session)
            .is_some_and(|session| session.is_leaving);
        if !(is_leaving && error.reason() == "DRAINING") {
            let advised = error.failure().and_then(|failure| failure.retry_delay());
            let at = now + pauses::before_repeat(*attempts, advised);
            self.timers.add(at, Timer::Repeat { what, session });
        }
        true
    }

    pub(super) fn repeat(&mut self, what: Repeat, session: u64, now: Time) {
        match what {
            Repeat::Acquire(id) => {
                // A command without its answer was sent meanwhile, with a new id.
                if self.intents.get(&id).is_some_and(|intent| {
                    intent.home == Some(session)
                        && self
                            .sessions
                            .get(&session)
                            .is_some_and(|one| !one.owners.contains_key(&intent.command_id))
                }) {
                    self.place(id, session, now);
                }
            }
            Repeat::Attach(lease) => {
                if self
                    .leases
                    .get(&lease.id)
                    .is_some_and(|held| held.home == session)
                {
                    self.attach(&lease, session);
                }
            }
            Repeat::Release(id) => {
                if self
                    .releases
                    .get(&id)
                    .is_some_and(|task| task.home == Some(session))
                {
                    self.place_release(&id, session);
                }
            }
            Repeat::Update(lease, number) => {
                let is_open = self.leases.get(&lease.id).is_some_and(|held| {
                    held.home == session
                        && held
                            .updates
                            .front()
                            .is_some_and(|update| update.number == number)
                });
                if is_open {
                    self.place_update(&lease);
                }
            }
        }
    }
}
