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
use crate::failure::Failure;
use crate::loss::LossCause;
use crate::numbers::CALL;
use crate::texts::check_metadata;

impl Engine {
    pub(crate) fn update(
        &mut self,
        lease: &Arc<LeaseState>,
        metadata: BTreeMap<String, String>,
        now: Time,
    ) -> Result<oneshot::Receiver<Result<(), Error>>, Error> {
        check_metadata(&metadata)?;
        self.compare_clock(lease, now);
        let Some(held) = self.leases.get_mut(&lease.id) else {
            return Err(lease
                .lost(lease.cause().unwrap_or(LossCause::Released))
                .into());
        };
        // Updates take turns, so the caller of an earlier update has given up.
        if let Some(earlier) = held.update.take() {
            self.timers.remove(earlier.limit);
        }
        self.update_count += 1;
        let (waiter, answer) = oneshot::channel();
        let limit = Timer::UpdateLimit(lease.clone(), self.update_count);
        held.update = Some(UpdateTask {
            number: self.update_count,
            metadata,
            attempts: 0,
            last_error: None,
            limit: Some(self.timers.add(now + CALL, limit)),
            waiter,
        });
        self.place_update(lease);
        Ok(answer)
    }

    /// Sends the update if the lease is in a session. Otherwise the answer to the attach sends it.
    pub(super) fn place_update(&mut self, lease: &Arc<LeaseState>) {
        let Some(held) = self.leases.get(&lease.id) else {
            return;
        };
        let (Some(update), Some(lease_number)) = (&held.update, held.number) else {
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

    /// The lease stays held. A late answer has no effect.
    pub(super) fn update_is_late(&mut self, lease: &LeaseState, number: u64) {
        let Some(held) = self.leases.get_mut(&lease.id) else {
            return;
        };
        if let Some(task) = held.update.take_if(|task| task.number == number) {
            let what = format!("no server answered the update of {:?}", lease.name);
            let error = self.no_answer(what, task.last_error.as_ref());
            let _ = task.waiter.send(Err(error));
        }
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
        let Some(task) = held.update.take_if(|task| task.number == update) else {
            return;
        };
        match event {
            Event::Updated(_) => {
                self.timers.remove(task.limit);
                let _ = task.waiter.send(Ok(()));
            }
            Event::Failed(failed) if held.home == number => {
                let error = Error::from(Failure::of_command(failed));
                let mut attempts = task.attempts;
                let what = Repeat::Update(lease.clone(), update);
                if !self.repeat_later(what, &mut attempts, &error, number, now) {
                    self.timers.remove(task.limit);
                    let _ = task.waiter.send(Err(error));
                } else if let Some(held) = self.leases.get_mut(&lease.id) {
                    let last_error = Some(error);
                    held.update = Some(UpdateTask {
                        attempts,
                        last_error,
                        ..task
                    });
                }
            }
            _ => held.update = Some(task),
        }
    }
}
