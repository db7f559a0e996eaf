//! The handle of the engine, which callers share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::driver::{DriverEnd, Shared, drive};
use super::engine::{Engine, EngineSettings};
use super::lease_state::LeaseState;
use super::tasks::Acquire;
use crate::clock::{Clock, Time};
use crate::connection::{Connector, Servers};
use crate::error::{Error, Result};

/// The session of a client. The last handle closes it in the background.
pub(crate) struct SessionClient {
    shared: Arc<Shared>,
    closed: watch::Receiver<bool>,
    pid: u32,
}

impl SessionClient {
    /// Opens the first session, and waits for the first answer of a server.
    pub(crate) async fn connect(
        settings: EngineSettings,
        connector: Arc<Connector>,
        servers: Servers,
        timeout: Duration,
    ) -> Result<SessionClient> {
        let (client, started) = SessionClient::start(settings, connector, servers);
        let failure = match tokio::time::timeout(timeout, started).await {
            Ok(Ok(Ok(()))) => return Ok(client),
            Ok(Ok(Err(error))) => error,
            Ok(Err(_)) => Error::Closed,
            Err(_) => client.shared.look(|engine, _| match engine.last_error() {
                Some(error @ Error::Credential(_)) => error.clone(),
                last => Error::no_answer("no server answered in time", last),
            }),
        };
        client.shared.with(|engine, now| engine.close_now(now));
        Err(failure)
    }

    /// Opens the first session in the background. The receiver gets the first answer of a server.
    pub(crate) fn start(
        settings: EngineSettings,
        connector: Arc<Connector>,
        servers: Servers,
    ) -> (SessionClient, oneshot::Receiver<Result<()>>) {
        let clock = Clock::System;
        let (ready, started) = oneshot::channel();
        let engine = Engine::new(settings, ready, clock.now());
        let shared = Arc::new(Shared::new(clock, engine));
        let (over, closed) = watch::channel(false);
        let end = DriverEnd::new(shared.clone(), over);
        tokio::spawn(drive(shared.clone(), connector, servers, end));
        let pid = std::process::id();
        let client = SessionClient {
            shared,
            closed,
            pid,
        };
        (client, started)
    }

    /// Waits for a lease. Dropping the future gives the acquire up, and releases a late grant.
    pub(crate) async fn acquire(self: &Arc<Self>, acquire: Acquire) -> Result<Arc<LeaseState>> {
        if self.is_forked() {
            return Err(Error::Closed);
        }
        // A refused acquire drops its function outside of the lock: the function may own a lease.
        let _on_queued = acquire.on_queued.clone();
        let (id, grant) = self
            .shared
            .with(|engine, now| engine.acquire(acquire, now))?;
        let mut pending = Pending {
            client: self.clone(),
            id,
            grant: Some(grant),
        };
        let answer = match &mut pending.grant {
            Some(grant) => tokio::select! {
                biased;
                answer = grant => answer.unwrap_or(Err(Error::Closed)),
                // Also if the runtime of the driver has gone.
                () = self.closed() => Err(Error::Closed),
            },
            None => Err(Error::Closed),
        };
        pending.grant = None;
        answer
    }

    pub(crate) fn lease_count(&self) -> usize {
        self.shared.look(|engine, _| engine.lease_count())
    }

    /// Releases all leases, ends all waits, and waits up to 5 s for the answers.
    pub(crate) async fn close(&self) {
        self.start_close();
        // The driver runs in the parent only, so nothing in a child tells the end.
        if !self.is_forked() {
            self.closed().await;
        }
    }

    /// Waits for the end of the driver.
    async fn closed(&self) {
        let _ = self.closed.clone().wait_for(|&is_closed| is_closed).await;
    }

    /// Does not begin in a forked child, where another process holds the leases.
    pub(crate) fn start_close(&self) {
        if !self.is_forked() {
            self.shared.with(|engine, now| engine.close(now));
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.shared.now()
    }

    pub(crate) fn with_engine<T>(&self, step: impl FnOnce(&mut Engine, Time) -> T) -> T {
        self.shared.with(step)
    }

    pub(crate) fn is_forked(&self) -> bool {
        std::process::id() != self.pid
    }
}

impl Drop for SessionClient {
    fn drop(&mut self) {
        self.start_close();
    }
}

/// An acquire without an answer.
struct Pending {
    client: Arc<SessionClient>,
    id: u64,
    grant: Option<oneshot::Receiver<Result<Arc<LeaseState>, Error>>>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Some(mut grant) = self.grant.take() else {
            return;
        };
        if self.client.is_forked() {
            return;
        }
        self.client.shared.with(|engine, now| {
            engine.give_up(self.id, now);
            if let Ok(Ok(lease)) = grant.try_recv() {
                engine.release(&lease, now);
            }
        });
    }
}
