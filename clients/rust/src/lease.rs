//! A held lock, or held permits.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::loss::{LeaseLost, LossCause};
use crate::numbers::RELEASE;
use crate::session::{Acquire, LeaseState, Released, SessionClient, Verdict};

/// A held lock, or held permits. The client renews the lease in the background. Dropping the lease
/// releases it in the background; [`release`](Lease::release) also waits for the answer.
#[must_use = "dropping a lease releases it"]
pub struct Lease {
    state: Arc<LeaseState>,
    client: Arc<SessionClient>,
    is_released: AtomicBool,
}

impl Lease {
    /// Waits for a lease. Dropping the future gives the acquire up, and releases a late grant.
    pub(crate) async fn acquire(client: &Arc<SessionClient>, acquire: Acquire) -> Result<Lease> {
        Ok(Lease::new(client.acquire(acquire).await?, client.clone()))
    }

    pub(crate) fn new(state: Arc<LeaseState>, client: Arc<SessionClient>) -> Lease {
        Lease {
            state,
            client,
            is_released: AtomicBool::new(false),
        }
    }

    /// The name of the lock or the semaphore.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// The number of permits: 1 for a lock.
    pub fn permits(&self) -> u32 {
        self.state.permits.max(0) as u32
    }

    /// Pass the token to the protected store, which refuses smaller tokens. Compares the clock as
    /// [`check`](Lease::check) does.
    pub fn fencing_token(&self) -> Result<i64, LeaseLost> {
        self.check().map(|()| self.state.token)
    }

    /// Call before each step of the work. Compares the clock, because a timer may be late.
    pub fn check(&self) -> Result<(), LeaseLost> {
        match self.cause() {
            None => Ok(()),
            Some(cause) => Err(self.state.lost(cause)),
        }
    }

    /// Whether this process may rely on the lease. Compares the clock.
    pub fn is_valid(&self) -> bool {
        self.cause().is_none()
    }

    /// The time until the deadline. Zero: the lease is over. A renewal makes the time longer.
    pub fn remaining(&self) -> Duration {
        match self.cause() {
            None => self.state.remaining(self.client.now()),
            Some(_) => Duration::ZERO,
        }
    }

    /// The loss of the lease. None: the lease is held, or was released by this process.
    pub fn loss(&self) -> Option<LeaseLost> {
        let cause = self.cause().filter(|_| !self.state.is_released())?;
        Some(self.state.lost(cause))
    }

    /// From now on the lease is released at the end of the work only, also by a close of the client.
    /// Returns the loss if the lease is over already.
    pub(crate) fn begin_work(&self) -> Option<LeaseLost> {
        let cause = self.cause().or_else(|| self.state.begin_work())?;
        Some(self.state.lost(cause))
    }

    /// Waits until the lease is over. The cause is [`LossCause::Released`] after a release. The future
    /// does not borrow the lease, so another task can wait. A runtime of tokio needs its timer.
    pub fn lost(&self) -> impl Future<Output = LeaseLost> + Send + use<> {
        let (state, client) = (self.state.clone(), Arc::downgrade(&self.client));
        async move { state.lost(over(&state, &client).await) }
    }

    /// Replaces the metadata that others see beside the lease. Updates of one lease take turns, and each
    /// has 10 s, its wait for the turn included.
    ///
    /// # Errors
    ///
    /// [`Error::LeaseLost`] if the lease is over. [`Error::Unavailable`] if no answer came within 10 s, or
    /// the error of the refusal if the servers refuse the client: the update may still be carried out, and
    /// the next update does not know of it.
    pub async fn update_metadata<K, V>(
        &self,
        metadata: impl IntoIterator<Item = (K, V)>,
    ) -> Result<()>
    where
        K: Into<String>,
        V: Into<String>,
    {
        let metadata: BTreeMap<String, String> = metadata
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        self.update(metadata, false).await
    }

    /// As [`update_metadata`](Lease::update_metadata). The other entries stay if the metadata is partial.
    pub(crate) async fn update(
        &self,
        metadata: BTreeMap<String, String>,
        is_partial: bool,
    ) -> Result<()> {
        let state = &self.state;
        if state.is_forked() {
            return Err(state.lost(LossCause::Forked).into());
        }
        let (number, answer) = self
            .client
            .with_engine(|engine, now| engine.update(state, metadata, is_partial, now))?;
        let _pending = PendingUpdate {
            lease: self,
            number,
        };
        let client = Arc::downgrade(&self.client);
        tokio::select! {
            biased;
            answer = answer => answer.unwrap_or(Err(Error::Closed)),
            // Also if the runtime of the client stands still.
            cause = over(state, &client) => Err(state.lost(cause).into()),
        }
    }

    /// Whether an update keeps the entry of the metadata.
    pub(crate) fn keeps(&self, key: &str) -> bool {
        self.state.keeps(key)
    }

    /// Releases the lease, after the work has ended, and waits up to 5 s for the answer. The release is
    /// on its way even if the future is dropped, and is repeated in each next session until an answer
    /// comes or the lease has ended.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if no answer came in time, or the error of the refusal if the servers refuse
    /// the client.
    pub async fn release(self) -> Result<Released> {
        self.release_now().await
    }

    /// Starts the release at once, not at the first poll.
    pub(crate) fn release_now(&self) -> impl Future<Output = Result<Released>> + use<> {
        self.is_released.store(true, Ordering::Relaxed);
        let state = &self.state;
        let answer = (!state.is_forked()).then(|| {
            self.client
                .with_engine(|engine, now| engine.release(state, now))
        });
        let (state, client) = (state.clone(), self.client.clone());
        async move {
            let Some(answer) = answer else {
                return Ok(Released::IN_CHILD);
            };
            if let Ok(answer) = tokio::time::timeout(RELEASE, answer).await {
                return answer.unwrap_or(Err(Error::Closed));
            }
            Err(client.with_engine(|engine, _| engine.release_is_slow(&state)))
        }
    }

    /// Releases the lease after the work. Returns a loss if the server had ended the lease before, so
    /// that others may have held it.
    pub(crate) fn leave(&self) -> impl Future<Output = Option<LeaseLost>> + use<> {
        let (state, answer) = (self.state.clone(), self.release_now());
        async move {
            match answer.await {
                Ok(Released {
                    released: false,
                    cause: Some(cause),
                }) if matches!(cause, LossCause::Revoked | LossCause::StoreReset) => {
                    Some(state.lost(cause))
                }
                _ => None,
            }
        }
    }

    /// Releases in the background. A lease that nobody holds any more needs no release.
    pub(crate) fn release_in_background(&self) {
        if self.state.is_forked() || self.is_released.load(Ordering::Relaxed) {
            return;
        }
        let is_gone = matches!(
            self.cause(),
            Some(LossCause::Deadline | LossCause::LeaseNotHeld | LossCause::Superseded)
        );
        if !is_gone {
            drop(self.release_now());
        }
    }

    fn cause(&self) -> Option<LossCause> {
        compare_clock(&self.state, &self.client)
    }
}

/// An update without an answer. Its end gives the turn to the next one.
struct PendingUpdate<'a> {
    lease: &'a Lease,
    number: u64,
}

impl Drop for PendingUpdate<'_> {
    fn drop(&mut self) {
        let Lease { client, state, .. } = self.lease;
        if !state.is_forked() {
            let given_up = Err(Error::Closed);
            client.with_engine(|engine, now| {
                engine.end_update(state, self.number, given_up, now);
            });
        }
    }
}

/// Why the lease is over at this moment. None: the lease is held.
fn compare_clock(state: &Arc<LeaseState>, client: &SessionClient) -> Option<LossCause> {
    match state.judge(client.now()) {
        Verdict::Valid => None,
        Verdict::Over(cause) => Some(cause),
        Verdict::JustOver(cause) => {
            client.with_engine(|engine, now| engine.lease_over(state, cause, now));
            Some(cause)
        }
    }
}

/// Waits until the lease is over. The caller's runtime has a timer of its own for the deadline,
/// because the runtime of the client may stand still.
async fn over(state: &Arc<LeaseState>, client: &Weak<SessionClient>) -> LossCause {
    let mut over = state.watch();
    loop {
        let remaining = {
            let Some(client) = client.upgrade() else {
                // The end of the client has ended the lease.
                return state.cause().unwrap_or(LossCause::Closed);
            };
            if let Some(cause) = compare_clock(state, &client) {
                return cause;
            }
            state.remaining(client.now())
        };
        // An executor without tokio has no timer.
        if tokio::runtime::Handle::try_current().is_ok() {
            let _ = tokio::time::timeout(remaining, over.changed()).await;
        } else {
            let _ = over.changed().await;
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release_in_background();
    }
}

/// Neither a log nor an error shows the id.
impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}
