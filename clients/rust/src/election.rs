//! Leader election.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use holdfast_proto::holdfast::v1::lock_service_client::LockServiceClient;
use holdfast_proto::holdfast::v1::{GetLockRequest, Lock as LockMessage, WatchLockRequest};

use crate::acquire::Lock;
use crate::calls::{Calls, Limits, watch};
use crate::error::Result;
use crate::failure::Failure;
use crate::lease::Lease;
use crate::session::QueuePlace;

/// The metadata entry of the lease that has the leader's value.
const VALUE: &str = "value";

/// The holder of the election's lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The text that the leader has given, for example its address.
    pub value: String,
    /// Rises with each leader.
    pub fencing_token: i64,
    /// The label of the leader's process.
    pub holder_id: String,
}

/// An election: the holder of the lock with this name is the leader.
#[derive(Clone)]
pub struct Election {
    /// With the options of all campaigns.
    lock: Lock,
    calls: Arc<Calls>,
}

impl Election {
    pub(crate) fn new(lock: Lock, calls: Arc<Calls>) -> Election {
        Election { lock, calls }
    }

    /// The time after which another process can lead if this one vanishes. Default: the server's, 30 s.
    #[must_use]
    pub fn ttl(self, time: Duration) -> Election {
        Election {
            lock: self.lock.ttl(time),
            ..self
        }
    }

    /// The longest wait for the leadership. Default: until the future is dropped.
    #[must_use]
    pub fn wait(self, time: Duration) -> Election {
        Election {
            lock: self.lock.wait(time),
            ..self
        }
    }

    /// The longest time to lead, as [`Lock::max_hold`]. Default: no bound.
    #[must_use]
    pub fn max_hold(self, time: Duration) -> Election {
        Election {
            lock: self.lock.max_hold(time),
            ..self
        }
    }

    /// An entry of the metadata that others see beside the leader's value. The entry `value` is the
    /// leader's value.
    #[must_use]
    pub fn metadata(self, key: impl Into<String>, value: impl Into<String>) -> Election {
        Election {
            lock: self.lock.metadata(key, value),
            ..self
        }
    }

    /// Called with the place in the queue while a candidate waits, as [`Lock::on_queued`].
    #[must_use]
    pub fn on_queued(self, tell: impl Fn(QueuePlace) + Send + Sync + 'static) -> Election {
        Election {
            lock: self.lock.on_queued(tell),
            ..self
        }
    }

    /// Waits until this process is the leader. Releasing the lease resigns.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::acquire`].
    pub async fn campaign(&self, value: impl Into<String>) -> Result<Lease> {
        self.candidacy(value).acquire().await
    }

    /// The lock of the election with the value of this candidate, for [`Lock::run`] and more options.
    /// The value is the entry `value` of the lease's metadata. An update of the metadata without this
    /// entry keeps the value.
    pub fn candidacy(&self, value: impl Into<String>) -> Lock {
        self.lock.clone().kept_metadata(VALUE, value.into())
    }

    /// Replaces the value of a lease of [`campaign`](Election::campaign), and leaves its other metadata.
    ///
    /// # Errors
    ///
    /// Those of [`Lease::update_metadata`]. [`Error::InvalidRequest`](crate::Error::InvalidRequest) if the
    /// lease is not the lease of a leader.
    pub async fn update_value(&self, lease: &Lease, value: impl Into<String>) -> Result<()> {
        if !lease.keeps(VALUE) {
            return Err(Failure::of_option("lease", "is not the lease of a leader").into());
        }
        let value = BTreeMap::from([(VALUE.to_owned(), value.into())]);
        lease.update(value, true).await
    }

    /// The present leader. None: nobody leads.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`](crate::Error::Unavailable) if no server answers within 10 s.
    pub async fn leader(&self) -> Result<Option<Leader>> {
        let request = GetLockRequest {
            name: self.lock.name().to_owned(),
        };
        let answer = self
            .calls
            .unary(Limits::default(), request, |channel, request| async move {
                LockServiceClient::new(channel).get_lock(request).await
            });
        Ok(answer.await?.lock.and_then(leader_of))
    }

    /// The leader at once, and after each change. None while nobody leads. The stream ends after
    /// an error: [`Error::Closed`](crate::Error::Closed) when the client is closed, or an error that a
    /// repetition does not help.
    pub fn observe(&self) -> impl Stream<Item = Result<Option<Leader>>> + Send + Unpin + use<> {
        let calls = self.calls.clone();
        let request = WatchLockRequest {
            name: self.lock.name().to_owned(),
        };
        let changes = watch(calls, request, |channel, request| async move {
            LockServiceClient::new(channel).watch_lock(request).await
        });
        let leaders = changes.map(|change| Ok(change?.lock.and_then(leader_of)));
        let mut last: Option<Option<Leader>> = None;
        Box::pin(leaders.filter(move |leader: &Result<Option<Leader>>| {
            let is_new = leader
                .as_ref()
                .map_or(true, |leader| last.as_ref() != Some(leader));
            if let Ok(leader) = leader {
                last = Some(leader.clone());
            }
            std::future::ready(is_new)
        }))
    }
}

impl std::fmt::Debug for Election {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Election")
            .field("name", &self.lock.name())
            .finish_non_exhaustive()
    }
}

fn leader_of(lock: LockMessage) -> Option<Leader> {
    let mut holder = lock.holders.into_iter().next()?;
    Some(Leader {
        value: holder.metadata.remove(VALUE).unwrap_or_default(),
        fencing_token: holder.fencing_token,
        holder_id: holder.holder_id,
    })
}
