//! How long this process may believe in a lease.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_proto::holdfast::v1::Lease as LeaseMessage;
use tokio::sync::watch;

use crate::clock::{Time, span};
use crate::loss::{LeaseLost, LossCause};

/// What the caller has asked for, and what a server does not say of a lease.
#[derive(Clone, Default)]
pub(crate) struct LeaseWishes {
    pub(crate) max_hold: Option<Duration>,
    pub(crate) metadata: BTreeMap<String, String>,
    /// Entries of the metadata that an update without them keeps.
    pub(crate) kept: BTreeMap<String, String>,
}

/// A lease that was granted, shared by its handle and the engine. The latest deadline counts, a
/// deadline that has passed stays passed, and a belief that has ended never returns.
pub(crate) struct LeaseState {
    /// A secret that belongs into no log.
    pub(super) id: String,
    pub(crate) name: Arc<str>,
    pub(crate) token: i64,
    pub(crate) permits: i32,
    pub(super) granted_ttl: Duration,
    hold_until: Time,
    /// The process that holds the lease. A forked child holds nothing.
    pid: u32,
    /// Entries of the metadata that an update without them keeps.
    kept: Mutex<BTreeMap<String, String>>,
    /// All entries that others see, as far as this process has set them.
    shown: Mutex<BTreeMap<String, String>>,
    belief: Mutex<Belief>,
    over: watch::Sender<Option<LossCause>>,
}

struct Belief {
    deadline: Time,
    over: Option<LossCause>,
    /// This process has released the lease before it was lost.
    is_released: bool,
    /// Work runs under the lease, so the lease is released at the end of the work only.
    has_work: bool,
}

/// What a comparison with the clock has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Valid,
    /// The lease was over before.
    Over(LossCause),
    /// The comparison has ended the belief. The engine must hear of it.
    JustOver(LossCause),
}

impl LeaseState {
    pub(super) fn new(
        message: LeaseMessage,
        deadline: Time,
        now: Time,
        wishes: LeaseWishes,
    ) -> LeaseState {
        LeaseState {
            granted_ttl: span(message.ttl.as_ref()).unwrap_or_default(),
            id: message.lease_id,
            name: message.name.into(),
            token: message.fencing_token,
            permits: message.permit_count,
            hold_until: wishes.max_hold.map_or(Time::MAX, |max_hold| now + max_hold),
            kept: Mutex::new(wishes.kept),
            shown: Mutex::new(wishes.metadata),
            pid: std::process::id(),
            belief: Mutex::new(Belief {
                deadline,
                over: None,
                is_released: false,
                has_work: false,
            }),
            over: watch::Sender::new(None),
        }
    }

    /// Compares the clock, because a timer may be late.
    pub(crate) fn judge(&self, now: Time) -> Verdict {
        if self.is_forked() {
            return Verdict::Over(LossCause::Forked);
        }
        let mut belief = self.belief();
        if let Some(cause) = belief.over {
            return Verdict::Over(cause);
        }
        let cause = if now >= belief.deadline {
            LossCause::Deadline
        } else if now >= self.hold_until {
            LossCause::MaxHold
        } else {
            return Verdict::Valid;
        };
        self.set_over(&mut belief, cause);
        Verdict::JustOver(cause)
    }

    pub(crate) fn is_forked(&self) -> bool {
        std::process::id() != self.pid
    }

    /// The time until the lease is over, if no renewal comes.
    pub(crate) fn remaining(&self, now: Time) -> Duration {
        now.until(self.over_at())
    }

    pub(super) fn over_at(&self) -> Time {
        self.belief().deadline.min(self.hold_until)
    }

    pub(super) fn deadline(&self) -> Time {
        self.belief().deadline
    }

    /// Takes the deadline of a renewal or an attach. Without effect if the belief is over.
    pub(super) fn confirm(&self, deadline: Time, now: Time) {
        let mut belief = self.belief();
        if belief.over.is_none() && now < belief.deadline {
            belief.deadline = belief.deadline.max(deadline);
        }
    }

    /// Only the first cause counts, and a deadline that has passed is an earlier cause. Returns the
    /// cause if the belief has ended by this call.
    pub(super) fn end(&self, cause: LossCause, now: Time) -> Option<LossCause> {
        self.end_belief(cause, now, false)
    }

    /// As `end`, by the own release.
    pub(super) fn let_go(&self, now: Time) -> Option<LossCause> {
        self.end_belief(LossCause::Released, now, true)
    }

    /// Whether the lease is over by the own release, which is no loss.
    pub(crate) fn is_released(&self) -> bool {
        self.belief().is_released
    }

    /// Work begins under the lease. Returns the cause if the lease is over already.
    pub(crate) fn begin_work(&self) -> Option<LossCause> {
        let mut belief = self.belief();
        belief.has_work = belief.over.is_none();
        belief.over
    }

    pub(super) fn has_work(&self) -> bool {
        self.belief().has_work
    }

    /// Adds the entries that the lease keeps, or all if the metadata is partial, unless the metadata has
    /// others.
    pub(super) fn add_kept(&self, metadata: &mut BTreeMap<String, String>, is_partial: bool) {
        let kept = match is_partial {
            true => self.shown().clone(),
            false => self.kept().clone(),
        };
        for (key, value) in &kept {
            if !metadata.contains_key(key) {
                metadata.insert(key.clone(), value.clone());
            }
        }
    }

    /// From now on the lease keeps the values of an update that was carried out.
    pub(super) fn keep(&self, metadata: &BTreeMap<String, String>) {
        self.shown().clone_from(metadata);
        for (key, value) in self.kept().iter_mut() {
            if let Some(new) = metadata.get(key) {
                new.clone_into(value);
            }
        }
    }

    fn end_belief(&self, cause: LossCause, now: Time, is_released: bool) -> Option<LossCause> {
        let mut belief = self.belief();
        if belief.over.is_some() {
            return None;
        }
        let cause = if now >= belief.deadline {
            LossCause::Deadline
        } else {
            belief.is_released = is_released;
            cause
        };
        self.set_over(&mut belief, cause);
        Some(cause)
    }

    /// Why the lease is over, without a look at the clock.
    pub(crate) fn cause(&self) -> Option<LossCause> {
        self.belief().over
    }

    pub(crate) fn lost(&self, cause: LossCause) -> LeaseLost {
        LeaseLost::new(self.name.clone(), cause)
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Option<LossCause>> {
        self.over.subscribe()
    }

    fn set_over(&self, belief: &mut Belief, cause: LossCause) {
        belief.over = Some(cause);
        self.over.send_replace(Some(cause));
    }

    /// Whether an update keeps the entry.
    pub(crate) fn keeps(&self, key: &str) -> bool {
        self.kept().contains_key(key)
    }

    fn shown(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn belief(&self) -> MutexGuard<'_, Belief> {
        self.belief.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without the id.
impl fmt::Debug for LeaseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("name", &self.name)
            .field("fencing_token", &self.token)
            .field("permits", &self.permits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::loss::NoticedBy;

    #[test]
    fn a_lease_of_another_process_is_lost_before_its_deadline() {
        let message = LeaseMessage {
            name: "report".to_owned(),
            ..LeaseMessage::default()
        };
        let now = Clock::System.now();
        let mut lease = LeaseState::new(message, Time::MAX, now, LeaseWishes::default());
        assert_eq!(lease.judge(now), Verdict::Valid);
        lease.pid = std::process::id() + 1;
        assert_eq!(lease.judge(now), Verdict::Over(LossCause::Forked));
        let lost = lease.lost(LossCause::Forked);
        assert_eq!(lost.cause().as_str(), "FORKED");
        assert_eq!(lost.noticed_by(), NoticedBy::Client);
    }
}
