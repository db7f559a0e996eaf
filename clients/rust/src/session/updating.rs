//! Updates of metadata.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::session_event::Event;
use holdfast_proto::holdfast::v1::{MetadataUpdate, UpdateCommand};
use tokio::sync::oneshot;

use super::engine::{Engine, Repeat, Timer};
use super::lease_state::LeaseState;
use super::stream::Owner;
use super::tasks::UpdateTask;
use crate::clock::Time;
use crate::error::Error;
use crate::failure::{Failure, check_metadata};
use crate::loss::LossCause;
use crate::numbers::CALL;

impl Engine {
    /// Starts an update, which leaves the other entries if it is partial. Returns its number and its answer. Updates of one lease take turns, in the order
    /// of the calls.
    pub(crate) fn update(
        &mut self,
        lease: &Arc<LeaseState>,
        metadata: BTreeMap<String, String>,
        is_partial: bool,
        now: Time,
    ) -> Result<(u64, oneshot::Receiver<Result<(), Error>>), Error> {
        check_metadata(&metadata)?;
        self.compare_clock(lease, now);
        let Some(held) = self.leases.get_mut(&lease.id) else {
            return Err(lease
                .lost(lease.cause().unwrap_or(LossCause::Released))
                .into());
        };
        self.update_count += 1;
        let number = self.update_count;
        let until = now + CALL;
        let (waiter, answer) = oneshot::channel();
        held.updates.push_back(UpdateTask {
            number,
            metadata,
            is_partial,
            attempts: 0,
            last_error: None,
            until,
            limit: self
                .timers
                .add(until, Timer::UpdateLimit(lease.clone(), number)),
            waiter,
        });
        if held.updates.len() == 1 {
            self.begin_update(lease, now);
        }
        Ok((number, answer))
    }

    /// The turn of the first update has come. An update that is late, or that no message can have, gives
    /// the turn to the next one.
    fn begin_update(&mut self, lease: &Arc<LeaseState>, now: Time) {
        while let Some(update) = self.first_update(lease) {
            lease.add_kept(&mut update.metadata, update.is_partial);
            let error = match check_metadata(&update.metadata) {
                Ok(()) if now < update.until => return self.place_update(lease),
                Ok(()) => None,
                Err(failure) => Some(Error::from(failure)),
            };
            let number = update.number;
            let error = error.unwrap_or_else(|| self.late_update(lease, number));
            self.remove_update(lease, number, Err(error));
        }
    }

    fn first_update(&mut self, lease: &LeaseState) -> Option<&mut UpdateTask> {
        self.leases.get_mut(&lease.id)?.updates.front_mut()
    }

    /// Ends the update for its caller, and begins the next one. The lease stays held, and a late answer
    /// has no effect.
    pub(crate) fn end_update(
        &mut self,
        lease: &Arc<LeaseState>,
        number: u64,
        answer: Result<(), Error>,
        now: Time,
    ) {
        if self.remove_update(lease, number, answer) {
            self.begin_update(lease, now);
        }
    }

    /// True: the update was the first one.
    fn remove_update(
        &mut self,
        lease: &LeaseState,
        number: u64,
        answer: Result<(), Error>,
    ) -> bool {
        let Some(held) = self.leases.get_mut(&lease.id) else {
            return false;
        };
        let place = held.updates.iter().position(|one| one.number == number);
        let Some(update) = place.and_then(|place| held.updates.remove(place)) else {
            return false;
        };
        self.timers.remove(Some(update.limit));
        // The caller may have given up.
        let _ = update.waiter.send(answer);
        place == Some(0)
    }

    pub(super) fn update_is_late(&mut self, lease: &Arc<LeaseState>, number: u64, now: Time) {
        let error = self.late_update(lease, number);
        self.end_update(lease, number, Err(error), now);
    }

    /// The error of an update without an answer in time.
    fn late_update(&self, lease: &LeaseState, number: u64) -> Error {
        let what = format!("no server answered the update of {:?} in time", lease.name);
        let held = self.leases.get(&lease.id);
        let update = held.and_then(|held| held.updates.iter().find(|one| one.number == number));
        self.no_answer(what, update.and_then(|update| update.last_error.as_ref()))
    }

    /// Sends the update if the lease is in a session. Otherwise the answer to the attach sends it.
    pub(super) fn place_update(&mut self, lease: &Arc<LeaseState>) {
        let Some(held) = self.leases.get(&lease.id) else {
            return;
        };
        let (Some(update), Some(lease_number)) = (held.updates.front(), held.number) else {
            return;
        };
        let Some(session) = self.sessions.get_mut(&held.home) else {
            return;
        };
        let metadata_update = Some(MetadataUpdate {
            entries: update.metadata.clone(),
        });
        let command = Command::Update(UpdateCommand {
            lease_number,
            metadata_update,
        });
        session.run(command, Some(Owner::Update(lease.clone(), update.number)));
    }

    pub(super) fn update_event(
        &mut self,
        lease: &Arc<LeaseState>,
        update: u64,
        event: Event,
        number: u64,
        now: Time,
    ) {
        let Some(held) = self.leases.get_mut(&lease.id) else {
            return;
        };
        let is_home = held.home == number;
        let Some(first) = held.updates.front().filter(|one| one.number == update) else {
            return;
        };
        match event {
            Event::Updated(_) => {
                lease.keep(&first.metadata);
                self.end_update(lease, update, Ok(()), now);
            }
            Event::Failed(failed) if is_home => {
                let error = Error::from(Failure::of_command(failed));
                let mut attempts = first.attempts;
                let what = Repeat::Update(lease.clone(), update);
                if !self.repeat_later(what, &mut attempts, &error, number, now) {
                    self.end_update(lease, update, Err(error), now);
                } else if let Some(first) = self.first_update(lease) {
                    first.attempts = attempts;
                    first.last_error = Some(error);
                }
            }
            _ => {}
        }
    }
}
