//! Held leases: renewals, attaches, updates and ends.

use std::sync::Arc;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::session_event::Event;
use holdfast_proto::holdfast::v1::{
    AttachCommand, CommandFailed, Lease as LeaseMessage, LeaseRenewal, SessionEvent,
};

use super::engine::{Engine, HeldTooLong, Repeat, Timer};
use super::lease_state::{LeaseState, Verdict};
use super::news;
use super::stream::Owner;
use super::tasks::QueuePlace;
use crate::clock::{Time, message_span, span};
use crate::error::Error;
use crate::failure::Failure;
use crate::loss::LossCause;
use crate::pauses;

/// The times of a response, on the own clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receipt {
    /// The send of the heartbeat that the response names.
    pub(super) t0: Time,
    pub(super) at: Time,
}

impl Receipt {
    /// The deadline is never later than the true end of the lease. Unset fields give a passed one.
    pub(super) fn deadline(
        self,
        expire_offset: Option<&prost_types::Duration>,
        ttl: Option<&prost_types::Duration>,
    ) -> Time {
        self.t0.plus_span(expire_offset).min(self.at.plus_span(ttl))
    }
}

impl Engine {
    pub(super) fn event(&mut self, number: u64, event: SessionEvent, receipt: Receipt) {
        let SessionEvent { command_id, event } = event;
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        // A kind of event that this client does not know ends no command and no lease.
        let (Some(owner), Some(event)) = (session.owners.get(&command_id).cloned(), event) else {
            return;
        };
        if !matches!(event, Event::Queued(_) | Event::RenewalFailed(_)) {
            session.last_event(command_id);
        }
        let next = match owner {
            Owner::Acquire(id) => self.acquire_event(id, event, receipt, (number, command_id)),
            Owner::Attach(lease) => self.attach_event(lease, event, receipt, (number, command_id)),
            Owner::Lease(lease) => {
                self.lease_event(&lease, &event, receipt, number);
                None
            }
            Owner::Release(id) => {
                self.release_event(&id, event, number, receipt.at);
                None
            }
            Owner::Update(lease, update) => {
                self.update_event(&lease, update, event, number, receipt.at);
                None
            }
        };
        if let (Some(next), Some(session)) = (next, self.sessions.get_mut(&number)) {
            session.owners.insert(command_id, next);
        }
    }

    fn acquire_event(
        &mut self,
        id: u64,
        event: Event,
        receipt: Receipt,
        place: (u64, i64),
    ) -> Option<Owner> {
        match event {
            Event::Queued(queued) => self.queued(id, QueuePlace::of(queued)),
            Event::Granted(granted) => return self.granted(id, granted.lease?, receipt, place),
            Event::Cancelled(_) => self.acquire_cancelled(id, receipt.at),
            Event::Failed(failed) => self.acquire_failed(id, failed, place.0, receipt.at),
            _ => {}
        }
        None
    }

    fn attach_event(
        &mut self,
        lease: Arc<LeaseState>,
        event: Event,
        receipt: Receipt,
        place: (u64, i64),
    ) -> Option<Owner> {
        match event {
            Event::Granted(granted) => self.attached(lease, granted.lease?, receipt, place),
            Event::Failed(failed) => {
                self.attach_failed(&lease, failed, place.0, receipt.at);
                None
            }
            _ => None,
        }
    }

    fn attached(
        &mut self,
        lease: Arc<LeaseState>,
        message: LeaseMessage,
        receipt: Receipt,
        (number, command_id): (u64, i64),
    ) -> Option<Owner> {
        let until = receipt.deadline(message.expire_offset.as_ref(), message.ttl.as_ref());
        lease.confirm(until, receipt.at);
        self.compare_clock(&lease, receipt.at);
        let ttl = span(message.ttl.as_ref());
        let home = self.leases.get(&lease.id).map(|held| held.home);
        if home.is_none() || message.fencing_token != lease.token {
            self.release_id(&message.lease_id, ttl.unwrap_or_default(), receipt.at);
            return None;
        }
        self.leases.change_ttl(&lease.id, ttl);
        if home == Some(number) {
            self.settle_in(&lease, number, command_id);
            news::attached(&lease.name);
        }
        Some(Owner::Lease(lease))
    }

    /// After every error except these two the deadline decides.
    fn attach_failed(
        &mut self,
        lease: &Arc<LeaseState>,
        failed: CommandFailed,
        number: u64,
        now: Time,
    ) {
        self.compare_clock(lease, now);
        if self
            .leases
            .get(&lease.id)
            .is_none_or(|held| held.home != number)
        {
            return;
        }
        let error = Error::from(Failure::of_command(failed));
        match error.reason() {
            "LEASE_NOT_HELD" => self.end_lease(lease, LossCause::LeaseNotHeld, now),
            "SUPERSEDED" => self.end_lease(lease, LossCause::Superseded, now),
            _ => {
                let advised = error.failure().and_then(Failure::retry_delay);
                let what = Repeat::Attach(lease.clone());
                let attempts = self.leases.failed_attach(&lease.id);
                let left = now.until(lease.deadline());
                let at = now + pauses::before_attach(attempts, advised, left);
                self.timers.add(
                    at,
                    Timer::Repeat {
                        what,
                        session: number,
                    },
                );
            }
        }
    }

    fn lease_event(
        &mut self,
        lease: &Arc<LeaseState>,
        event: &Event,
        receipt: Receipt,
        number: u64,
    ) {
        match event {
            Event::RenewalFailed(failed) => {
                self.confirm(lease, failed.expire_offset.as_ref(), receipt);
                news::renewal_failed(&lease.name);
            }
            Event::Ended(ended) => {
                // After the attach was sent in a later session, only the answer to the attach decides.
                let is_old = self
                    .leases
                    .get(&lease.id)
                    .is_some_and(|held| number < held.home);
                if !is_old {
                    self.end_lease(lease, LossCause::of_session_end(ended.cause), receipt.at);
                }
            }
            _ => {}
        }
    }

    pub(super) fn renewed(&mut self, number: u64, renewal: &LeaseRenewal, receipt: Receipt) {
        let owner = self
            .sessions
            .get(&number)
            .and_then(|one| one.owners.get(&renewal.lease_number));
        let Some(Owner::Lease(lease)) = owner else {
            return;
        };
        let lease = lease.clone();
        self.leases
            .change_ttl(&lease.id, span(renewal.ttl.as_ref()));
        self.confirm(&lease, renewal.expire_offset.as_ref(), receipt);
    }

    fn confirm(
        &mut self,
        lease: &LeaseState,
        expire_offset: Option<&prost_types::Duration>,
        receipt: Receipt,
    ) {
        if let Some(held) = self.leases.get(&lease.id) {
            let ttl = message_span(held.ttl);
            lease.confirm(receipt.deadline(expire_offset, Some(&ttl)), receipt.at);
        }
    }

    pub(super) fn attach(&mut self, lease: &Arc<LeaseState>, number: u64) {
        let Some(held) = self.leases.get_mut(&lease.id) else {
            return;
        };
        held.home = number;
        held.number = None;
        if let Some(session) = self.sessions.get_mut(&number) {
            let command = Command::Attach(AttachCommand {
                lease_id: lease.id.clone(),
            });
            session.run(command, Some(Owner::Attach(lease.clone())));
        }
    }

    pub(super) fn settle_in(&mut self, lease: &Arc<LeaseState>, number: u64, command_id: i64) {
        if let Some(held) = self.leases.get_mut(&lease.id) {
            held.home = number;
            held.number = Some(command_id);
            held.failed_attaches = 0;
            self.place_update(lease);
        }
    }

    /// Compares the clock with the deadline. A renewal does not move the timer of a lease: the timer
    /// finds the later deadline when it fires.
    pub(super) fn compare_clock(&mut self, lease: &Arc<LeaseState>, now: Time) {
        match lease.judge(now) {
            Verdict::JustOver(cause) => self.lease_over(lease, cause, now),
            Verdict::Over(_) => {}
            Verdict::Valid => {
                if let Some(held) = self.leases.get_mut(&lease.id) {
                    self.timers.remove(held.timer.take());
                    let timer = Timer::LeaseOver(lease.clone());
                    held.timer = Some(self.timers.add(lease.over_at(), timer));
                }
            }
        }
    }

    pub(super) fn end_lease(&mut self, lease: &Arc<LeaseState>, cause: LossCause, now: Time) {
        if let Some(cause) = lease.end(cause, now) {
            self.lease_over(lease, cause, now);
        }
    }

    /// The belief in a lease has ended.
    pub(crate) fn lease_over(&mut self, lease: &Arc<LeaseState>, cause: LossCause, now: Time) {
        let Some(held) = self.leases.end(&lease.id) else {
            return;
        };
        self.timers.remove(held.timer);
        for update in held.updates {
            self.timers.remove(Some(update.limit));
            let _ = update.waiter.send(Err(lease.lost(cause).into()));
        }
        if lease.is_released() || cause == LossCause::Closed {
            return;
        }
        news::lost(&lease.name, cause);
        // The session still renews the lease. Nobody may rely on the lease after its deadline, whatever
        // the work does.
        if cause == LossCause::Deadline {
            self.release_id(&lease.id, held.ttl, now);
        }
        if cause == LossCause::MaxHold {
            let timer = self
                .timers
                .add(lease.deadline(), Timer::HeldTooLong(lease.clone()));
            let (lease, ttl) = (lease.clone(), held.ttl);
            self.held_too_long
                .insert(lease.id.clone(), HeldTooLong { lease, ttl, timer });
        }
    }
}
