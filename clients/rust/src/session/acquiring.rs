//! Acquires: from the intent to the grant.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::{CancelCommand, CommandFailed, Lease as LeaseMessage};
use tokio::sync::oneshot;
use tonic::Code;

use super::engine::{Action, Engine, Phase, Repeat, Timer};
use super::held::Held;
use super::holding::Receipt;
use super::lease_state::LeaseState;
use super::stream::Owner;
use super::tasks::{Acquire, Intent, QueuePlace};
use crate::clock::{Time, span};
use crate::error::Error;
use crate::failure::{Failure, check_metadata, check_text};
use crate::numbers::{ANSWER_AFTER_WAIT, LONGEST_TTL, MAX_ACQUIRES_UNANSWERED};

type Grant = oneshot::Receiver<Result<Arc<LeaseState>, Error>>;

impl Engine {
    /// Starts an acquire. Returns its number and its answer.
    pub(crate) fn acquire(&mut self, acquire: Acquire, now: Time) -> Result<(u64, Grant), Error> {
        if acquire.wishes.max_hold == Some(Duration::ZERO) {
            return Err(Failure::of_option("max_hold", "must be greater than 0").into());
        }
        check_text("name", &acquire.name)?;
        check_metadata(&acquire.wishes.metadata)?;
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if self.phase != Phase::Running {
            return Err(Error::Closed);
        }
        if self.intents.len() - self.abandoned_count >= MAX_ACQUIRES_UNANSWERED {
            let text = format!("{MAX_ACQUIRES_UNANSWERED} acquires of this client wait already");
            return Err(Failure::new("QUOTA_EXCEEDED", Code::ResourceExhausted, text).into());
        }
        self.intent_count += 1;
        let id = self.intent_count;
        let (sender, receiver) = oneshot::channel();
        let wait = acquire.wait;
        let mut intent = Intent::new(acquire, sender, now);
        intent.limit = wait.map(|wait| {
            self.timers
                .add(now + wait + ANSWER_AFTER_WAIT, Timer::IntentLimit(id))
        });
        self.intents.insert(id, intent);
        // A server that leaves may refuse new acquires. The next session sends the acquire.
        if let Some(current) = self.current
            && self
                .sessions
                .get(&current)
                .is_some_and(|session| !session.is_leaving)
        {
            self.place(id, current, now);
        }
        Ok((id, receiver))
    }

    /// The caller has given up. The intent stays until the server has answered, because a grant may be
    /// under way.
    pub(crate) fn give_up(&mut self, id: u64, now: Time) {
        self.abandon(id, Error::Closed, now);
    }

    pub(super) fn abandon(&mut self, id: u64, error: Error, now: Time) {
        let Some(intent) = self.intents.get_mut(&id) else {
            return;
        };
        let Some(waiter) = intent.waiter.take() else {
            return;
        };
        let _ = waiter.send(Err(error));
        self.timers.remove(intent.limit.take());
        self.actions
            .extend(intent.acquire.on_queued.take().map(Action::Forget));
        let Some(home) = intent.home else {
            self.intents.remove(&id);
            return;
        };
        self.abandoned_count += 1;
        // A grant under way ends by its ttl, if nobody releases it.
        let life = intent.acquire.ttl.unwrap_or(LONGEST_TTL);
        intent.limit = Some(self.timers.add(now + life, Timer::IntentLimit(id)));
        let command_id = intent.command_id;
        self.cancel(home, command_id);
    }

    /// The wait has lasted for too long, or an abandoned intent is forgotten.
    pub(super) fn intent_is_late(&mut self, id: u64, now: Time) {
        let Some(intent) = self.intents.get(&id) else {
            return;
        };
        if intent.waiter.is_none() {
            self.remove_intent(id);
            return self.check_empty(now);
        }
        let name = &intent.acquire.name;
        let what = format!("no server answered the acquire of {name:?}");
        let error = self.no_answer(what, intent.last_error.as_ref());
        self.abandon(id, error, now);
    }

    /// Sends the acquire in a session.
    pub(super) fn place(&mut self, id: u64, number: u64, now: Time) {
        let Some(intent) = self.intents.get_mut(&id) else {
            return;
        };
        intent.home = Some(number);
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        intent.command_id = session.run(intent.command(now), Some(Owner::Acquire(id)));
        let (is_abandoned, command_id) = (intent.waiter.is_none(), intent.command_id);
        if is_abandoned {
            self.cancel(number, command_id);
        }
    }

    fn cancel(&mut self, number: u64, command_id: i64) {
        if let Some(session) = self.sessions.get_mut(&number) {
            session.run(Command::Cancel(CancelCommand { command_id }), None);
        }
    }

    pub(super) fn queued(&mut self, id: u64, place: QueuePlace) {
        let Some(intent) = self.intents.get_mut(&id) else {
            return;
        };
        intent.last_error = None;
        // The caller's function is dropped when the caller gives up.
        if let Some(on_queued) = &intent.acquire.on_queued {
            self.actions.push(Action::Tell(on_queued.clone(), place));
        }
    }

    /// Takes the grant of an acquire. Returns the owner of the lease in this session.
    pub(super) fn granted(
        &mut self,
        id: u64,
        message: LeaseMessage,
        receipt: Receipt,
        (number, command_id): (u64, i64),
    ) -> Option<Owner> {
        let now = receipt.at;
        let until = receipt.deadline(message.expire_offset.as_ref(), message.ttl.as_ref());
        let ttl = span(message.ttl.as_ref()).unwrap_or_default();
        if let Some(held) = self.leases.get(&message.lease_id) {
            // The grant of an older session was read before the answer of this one.
            let lease = held.state.clone();
            lease.confirm(until, now);
            if held.home <= number {
                self.settle_in(&lease, number, command_id);
            }
            return Some(Owner::Lease(lease));
        }
        let is_wanted = self
            .intents
            .get(&id)
            .is_some_and(|intent| intent.waiter.is_some());
        if !is_wanted || self.leases.is_over(&message.lease_id) {
            self.remove_intent(id);
            self.release_id(&message.lease_id, ttl, now);
            return None;
        }
        if until <= now {
            self.granted_too_late(id, &message, ttl, now);
            return None;
        }
        let mut intent = self.remove_intent(id)?;
        let waiter = intent.waiter.take()?;
        let lease = Arc::new(LeaseState::new(message, until, now, intent.acquire.wishes));
        let timer = self
            .timers
            .add(lease.over_at(), Timer::LeaseOver(lease.clone()));
        // A repetition in a later session attaches to the lease, so only that session speaks for the
        // lease.
        let home = intent.home.unwrap_or(number).max(number);
        self.leases.add(Held {
            state: lease.clone(),
            ttl,
            home,
            number: (home == number).then_some(command_id),
            failed_attaches: 0,
            timer: Some(timer),
            updates: VecDeque::new(),
        });
        if home != number {
            self.take_over(&lease, home, intent.command_id);
        }
        if waiter.send(Ok(lease.clone())).is_err() {
            self.release(&lease, now);
        }
        self.check_empty(now);
        Some(Owner::Lease(lease))
    }

    /// The later session speaks for a lease that the older session has got. The answer of the later one
    /// to the repeated acquire is an answer to an attach. After a failure of the repetition the session
    /// attaches itself.
    fn take_over(&mut self, lease: &Arc<LeaseState>, later: u64, command_id: i64) {
        let Some(session) = self.sessions.get_mut(&later) else {
            return;
        };
        match session.owners.get_mut(&command_id) {
            Some(owner) => *owner = Owner::Attach(lease.clone()),
            None => self.attach(lease, later),
        }
    }

    pub(super) fn acquire_cancelled(&mut self, id: u64, now: Time) {
        if let Some(mut intent) = self.remove_intent(id)
            && let Some(waiter) = intent.waiter.take()
        {
            let _ = waiter.send(Err(Error::Closed));
        }
        self.check_empty(now);
    }

    pub(super) fn acquire_failed(
        &mut self,
        id: u64,
        failed: CommandFailed,
        number: u64,
        now: Time,
    ) {
        let Some(intent) = self.intents.get_mut(&id) else {
            return;
        };
        if intent.home != Some(number) {
            return;
        }
        let error = Error::from(Failure::of_command(failed));
        if error.reason() == "REQUEST_FINISHED" && intent.take_new_id() {
            return self.place(id, number, now);
        }
        let mut attempts = intent.attempts;
        let is_repeated =
            self.repeat_later(Repeat::Acquire(id), &mut attempts, &error, number, now);
        if !is_repeated {
            self.reject(id, error, now);
        } else if let Some(intent) = self.intents.get_mut(&id) {
            intent.attempts = attempts;
            intent.last_error = Some(error);
        }
    }

    /// The grant is over on arrival, so the work never began.
    fn granted_too_late(&mut self, id: u64, message: &LeaseMessage, ttl: Duration, now: Time) {
        self.release_id(&message.lease_id, ttl, now);
        let is_new = self.intents.get_mut(&id).is_some_and(Intent::take_new_id);
        match self.current {
            Some(current) if is_new => self.place(id, current, now),
            _ => {
                let what = format!(
                    "the grant of {:?} came after the end of its lease",
                    message.name
                );
                self.reject(id, Error::no_answer(what, None), now);
            }
        }
    }

    fn reject(&mut self, id: u64, error: Error, now: Time) {
        if let Some(mut intent) = self.remove_intent(id)
            && let Some(waiter) = intent.waiter.take()
        {
            let _ = waiter.send(Err(error));
        }
        self.check_empty(now);
    }

    fn remove_intent(&mut self, id: u64) -> Option<Intent> {
        let mut intent = self.intents.remove(&id)?;
        self.abandoned_count -= usize::from(intent.waiter.is_none());
        self.timers.remove(intent.limit.take());
        self.actions
            .extend(intent.acquire.on_queued.take().map(Action::Forget));
        Some(intent)
    }
}
