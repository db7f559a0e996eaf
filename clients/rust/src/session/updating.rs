//! Updates of metadata.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::session_event::Event;
use holdfast_proto::holdfast::v1::{MetadataUpdate, UpdateCommand};
use tokio::sync::oneshot;

use super::engine::{Engine, Repeat};
use super::lease_state::LeaseState;
use super::stream::Owner;
use super::tasks::UpdateTask;
use crate::clock::Time;
use crate::error::Error;
use crate::failure::Failure;
use crate::loss::LossCause;
use crate::texts::check_metadata;

impl Engine {
    /// Starts an update. Returns its number and its answer. Updates of one lease take turns, in the order
    /// of the calls.
    pub(crate) fn update(
        &mut self,
        lease: &Arc<LeaseState>,
        metadata: BTreeMap<String, String>,
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
        let (waiter, answer) = oneshot::channel();
        held.updates.push_back(UpdateTask {
            number,
            metadata,
            attempts: 0,
            last_error: None,
            waiter,
        });
        if held.updates.len() == 1 {
            self.begin_update(lease);
        }
        Ok((number, answer))
    }

    /// The turn of the first update has come.
    fn begin_update(&mut self, lease: &Arc<LeaseState>) {
        let held = self.leases.get_mut(&lease.id);
        let Some(update) = held.and_then(|held| held.updates.front_mut()) else {
            return;
        };
        lease.add_kept(&mut update.metadata);
        match check_metadata(&update.metadata) {
            Ok(()) => self.place_update(lease),
            Err(error) => {
                let number = update.number;
                self.end_update(lease, number, Err(error));
            }
        }
    }

    /// Ends the update for its caller, and begins the next one. The lease stays held, and a late answer
    /// has no effect.
    pub(crate) fn end_update(
        &mut self,
        lease: &Arc<LeaseState>,
        number: u64,
        answer: Result<(), Error>,
    ) {
        let Some(held) = self.leases.get_mut(&lease.id) else {
            return;
        };
        let place = held.updates.iter().position(|one| one.number == number);
        let Some(update) = place.and_then(|place| held.updates.remove(place)) else {
            return;
        };
        // The caller may have given up.
        let _ = update.waiter.send(answer);
        if place == Some(0) {
            self.begin_update(lease);
        }
    }

    /// The error of an update without an answer.
    pub(crate) fn update_is_late(&self, lease: &LeaseState, number: u64) -> Error {
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
                self.end_update(lease, update, Ok(()));
            }
            Event::Failed(failed) if is_home => {
                let error = Error::from(Failure::of_command(failed));
                let mut attempts = first.attempts;
                let what = Repeat::Update(lease.clone(), update);
                if !self.repeat_later(what, &mut attempts, &error, number, now) {
                    self.end_update(lease, update, Err(error));
                } else if let Some(first) = self
                    .leases
                    .get_mut(&lease.id)
                    .and_then(|held| held.updates.front_mut())
                {
                    first.attempts = attempts;
                    first.last_error = Some(error);
                }
            }
            _ => {}
        }
    }
}
