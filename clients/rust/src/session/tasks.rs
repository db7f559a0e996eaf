//! What outlives a session: acquires, releases and updates without an answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::{
    AcquireLockRequest, AcquirePermitsRequest, CommandQueued, LeaseReleased, LockMode,
};
use tokio::sync::oneshot;

use super::lease_state::{LeaseState, LeaseWishes};
use super::timers::TimerKey;
use crate::clock::{Time, message_span};
use crate::error::Error;
use crate::loss::LossCause;

/// The place of a request in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuePlace {
    /// The first waiter has position 1.
    pub position: u32,
    /// The number of waiters, with this request.
    pub waiter_count: u32,
    /// A present holder. None: nobody at this moment, or the caller may not read the name.
    pub holder: Option<Holder>,
}

/// Who holds what a request waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The label of the holder's process.
    pub holder_id: String,
    /// Rises with each grant.
    pub fencing_token: i64,
    /// What the holder shows beside its lease.
    pub metadata: BTreeMap<String, String>,
}

impl QueuePlace {
    pub(super) fn of(queued: CommandQueued) -> QueuePlace {
        QueuePlace {
            position: queued.position.max(0) as u32,
            waiter_count: queued.waiter_count.max(0) as u32,
            holder: queued.holder.map(|holder| Holder {
                holder_id: holder.holder_id,
                fencing_token: holder.fencing_token,
                metadata: holder.metadata,
            }),
        }
    }
}

pub(crate) type OnQueued = Arc<dyn Fn(QueuePlace) + Send + Sync>;

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Lock(LockMode),
    Permits {
        count: Option<u32>,
        limit: Option<u32>,
    },
}

/// What to acquire, without the fields that change from one attempt to the next.
#[derive(Clone)]
pub(crate) struct Acquire {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) ttl: Option<Duration>,
    /// Zero: try once. None: until the caller gives up.
    pub(crate) wait: Option<Duration>,
    pub(crate) wishes: LeaseWishes,
    pub(crate) on_queued: Option<OnQueued>,
}

pub(super) type GrantSender = oneshot::Sender<Result<Arc<LeaseState>, Error>>;

/// The intent to hold one lease. Repeated by the same `request_id` in each next session, until it has
/// an answer.
pub(super) struct Intent {
    pub(super) acquire: Acquire,
    /// None: the caller does not want the lease any more. A late grant is released.
    pub(super) waiter: Option<GrantSender>,
    /// The latest session that was sent the command. An older session does not speak for the intent.
    pub(super) home: Option<u64>,
    pub(super) command_id: i64,
    /// The number of failed attempts in a row.
    pub(super) attempts: u32,
    /// Why the last attempt was repeated. None: the request waits in the queue.
    pub(super) last_error: Option<Error>,
    /// The end of the wait, or the time at which an abandoned intent is forgotten.
    pub(super) limit: Option<TimerKey>,
    request_id: String,
    is_second_id: bool,
    started_at: Time,
}

impl Intent {
    pub(super) fn new(acquire: Acquire, waiter: GrantSender, now: Time) -> Intent {
        Intent {
            acquire,
            waiter: Some(waiter),
            home: None,
            command_id: 0,
            attempts: 0,
            last_error: None,
            limit: None,
            request_id: uuid::Uuid::new_v4().to_string(),
            is_second_id: false,
            started_at: now,
        }
    }

    /// Takes a new `request_id`, because the lease of the old one has ended unseen. False: that has
    /// happened before.
    pub(super) fn take_new_id(&mut self) -> bool {
        if self.is_second_id || self.waiter.is_none() {
            return false;
        }
        self.is_second_id = true;
        self.request_id = uuid::Uuid::new_v4().to_string();
        true
    }

    pub(super) fn command(&self, now: Time) -> Command {
        let Acquire {
            name,
            ttl,
            wait,
            wishes,
            ..
        } = &self.acquire;
        let left = wait.map(|wait| wait.saturating_sub(now - self.started_at));
        match self.acquire.kind {
            Kind::Lock(mode) => Command::AcquireLock(AcquireLockRequest {
                name: name.clone(),
                ttl: ttl.map(message_span),
                wait_timeout: left.map(message_span),
                metadata: wishes.metadata.clone(),
                request_id: self.request_id.clone(),
                mode: mode.into(),
                ..Default::default()
            }),
            Kind::Permits { count, limit } => Command::AcquirePermits(AcquirePermitsRequest {
                name: name.clone(),
                ttl: ttl.map(message_span),
                wait_timeout: left.map(message_span),
                metadata: wishes.metadata.clone(),
                request_id: self.request_id.clone(),
                permit_count: count.map(clamp),
                initial_limit: limit.map(clamp),
                ..Default::default()
            }),
        }
    }
}

fn clamp(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The answer to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Released {
    /// True: the work was protected until this release. False: the lease had ended before.
    pub released: bool,
    /// If `released` is false: why the lease had ended, if known.
    pub cause: Option<LossCause>,
}

impl Released {
    /// The lease is held elsewhere, and is not this client's to end.
    pub(super) const NOT_OURS: Released = Released {
        released: false,
        cause: None,
    };

    /// The parent of this process holds the lease.
    pub(crate) const IN_CHILD: Released = Released {
        released: false,
        cause: Some(LossCause::Forked),
    };

    pub(super) fn of(message: LeaseReleased) -> Released {
        Released {
            released: message.released,
            cause: LossCause::of_stored(message.loss_cause),
        }
    }
}

pub(crate) type ReleaseAnswer = oneshot::Receiver<Result<Released, Error>>;

/// One release, by `lease_id`. Repeated in each next session until the answer comes, or until the
/// lease has ended by its ttl, so that nobody needs the release any more.
#[derive(Debug, Default)]
pub(super) struct ReleaseTask {
    pub(super) home: Option<u64>,
    pub(super) attempts: u32,
    pub(super) last_error: Option<Error>,
    pub(super) limit: Option<TimerKey>,
    waiters: Vec<oneshot::Sender<Result<Released, Error>>>,
}

impl ReleaseTask {
    pub(super) fn wait(&mut self) -> ReleaseAnswer {
        let (sender, receiver) = oneshot::channel();
        self.waiters.push(sender);
        receiver
    }

    pub(super) fn settle(self, answer: &Result<Released, Error>) {
        for waiter in self.waiters {
            // The caller may have given up.
            let _ = waiter.send(answer.clone());
        }
    }
}

/// One update of metadata. Repeated after each attach, because a `lease_number` is valid in one
/// session only.
#[derive(Debug)]
pub(super) struct UpdateTask {
    pub(super) number: u64,
    pub(super) metadata: BTreeMap<String, String>,
    /// The other entries stay.
    pub(super) is_partial: bool,
    pub(super) attempts: u32,
    pub(super) last_error: Option<Error>,
    /// The end of the wait for the turn and the answer.
    pub(super) until: Time,
    pub(super) limit: TimerKey,
    pub(super) waiter: oneshot::Sender<Result<(), Error>>,
}
