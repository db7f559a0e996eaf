//! Locks and permits before they are acquired.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use holdfast_proto::holdfast::v1::LockMode;
use tracing::Instrument;

use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::lease::Lease;
use crate::limits::SemaphoreLimits;
use crate::run;
use crate::session::{Acquire, Kind, QueuePlace, SessionClient};

/// What locks and permits have in common.
#[derive(Clone)]
struct Request {
    session: Arc<SessionClient>,
    acquire: Acquire,
    is_cooperative: bool,
    /// Of a semaphore.
    limits: Option<Arc<SemaphoreLimits>>,
    /// Whether the limit is demanded.
    is_exact: bool,
}

impl Request {
    fn new(session: Arc<SessionClient>, kind: Kind, name: String) -> Request {
        let acquire = Acquire {
            kind,
            name,
            ttl: None,
            wait: None,
            wishes: Default::default(),
            on_queued: None,
        };
        Request {
            session,
            acquire,
            is_cooperative: false,
            limits: None,
            is_exact: false,
        }
    }

    async fn acquire(self) -> Result<Lease> {
        let span = tracing::info_span!("holdfast.acquire", name = %self.acquire.name);
        self.granted().instrument(span).await
    }

    async fn granted(self) -> Result<Lease> {
        let limit = match self.acquire.kind {
            Kind::Permits { limit, .. } => limit,
            Kind::Lock(_) => None,
        };
        let (Some(limits), Some(limit)) = (self.limits, limit) else {
            if self.is_exact {
                return Err(Failure::of_option("exact_limit", "needs limit").into());
            }
            return Lease::acquire(&self.session, self.acquire).await;
        };
        if self.is_exact {
            return limits
                .acquire_exactly(&self.session, self.acquire, limit)
                .await;
        }
        let name = self.acquire.name.clone();
        let lease = Lease::acquire(&self.session, self.acquire).await?;
        limits.compare_later(&name, limit);
        Ok(lease)
    }

    async fn try_acquire(mut self) -> Result<Option<Lease>> {
        self.acquire.wait = Some(Duration::ZERO);
        match self.acquire().await {
            Ok(lease) => Ok(Some(lease)),
            Err(error) if error.is_contended() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

macro_rules! request_methods {
    ($what:literal) => {
        /// The time after which the lease ends if this process vanishes. The client renews the lease
        /// long before. Default: the server's, 30 s. Range: 100 ms to 2 min, as the server allows.
        pub fn ttl(mut self, time: Duration) -> Self {
            self.0.acquire.ttl = Some(time);
            self
        }

        /// The longest wait in the queue. Default: until the future is dropped.
        pub fn wait(mut self, time: Duration) -> Self {
            self.0.acquire.wait = Some(time);
            self
        }

        /// The longest time to hold the lease. Afterwards the lease counts as lost, and is released
        /// when the work has ended or the deadline has passed. Heartbeats prove that the process runs,
        /// and this option catches work that hangs. Greater than 0, otherwise the lease is refused
        /// as an invalid request. Default: no bound.
        pub fn max_hold(mut self, time: Duration) -> Self {
            self.0.acquire.wishes.max_hold = Some(time);
            self
        }

        /// An entry of the metadata that others see beside the lease.
        pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
            self.0
                .acquire
                .wishes
                .metadata
                .insert(key.into(), value.into());
            self
        }

        /// Called with the place in the queue while the request waits, at most every 2 s. Must not
        /// block.
        pub fn on_queued(mut self, tell: impl Fn(QueuePlace) + Send + Sync + 'static) -> Self {
            self.0.acquire.on_queued = Some(Arc::new(tell));
            self
        }

        /// [`run`](Self::run) and [`try_run`](Self::try_run) do not drop the work on a loss, but wait
        /// for its end: the work watches [`Lease::lost`] or calls [`Lease::check`]. For work that must
        /// clean up, or that runs on another thread.
        pub fn cooperative(mut self) -> Self {
            self.0.is_cooperative = true;
            self
        }

        #[doc = concat!("Waits for the ", $what, ". Dropping the future gives the wait up.")]
        ///
        /// # Errors
        ///
        /// [`Error::Contended`] after [`wait`](Self::wait).
        pub async fn acquire(self) -> Result<Lease> {
            self.0.acquire().await
        }

        #[doc = concat!("Tries once. None: others have the ", $what, ", or wait for it.")]
        ///
        /// # Errors
        ///
        /// [`Error::Unavailable`] if no server answers within 5 s.
        pub async fn try_acquire(self) -> Result<Option<Lease>> {
            self.0.try_acquire().await
        }

        #[doc = concat!("Waits for the ", $what, ", runs the work, and releases.")]
        ///
        /// On a loss of the lease the future of the work is dropped. Dropping the returned future
        /// drops the work, and then releases in the background.
        ///
        /// # Errors
        ///
        /// [`Error::LeaseLost`] on a loss, also if the work has come to its end meanwhile, and
        /// [`Error::Contended`] after [`wait`](Self::wait).
        pub async fn run<F, Fut, T>(self, work: F) -> Result<T>
        where
            F: FnOnce(Arc<Lease>) -> Fut,
            Fut: Future<Output = T>,
        {
            let is_cooperative = self.0.is_cooperative;
            run::run(self.acquire().await?, is_cooperative, work).await
        }

        /// As [`run`](Self::run), for work that can fail. After a loss the error of the work is the
        /// source of the [`LeaseLost`](crate::LeaseLost).
        ///
        /// # Errors
        ///
        /// The errors of the work, and those of [`run`](Self::run).
        pub async fn try_run<F, Fut, T, E>(self, work: F) -> Result<T, E>
        where
            F: FnOnce(Arc<Lease>) -> Fut,
            Fut: Future<Output = Result<T, E>>,
            E: From<Error> + Into<Box<dyn StdError + Send + Sync>>,
        {
            let is_cooperative = self.0.is_cooperative;
            let lease = self.acquire().await?;
            run::try_run(lease, is_cooperative, work).await
        }
    };
}

/// A lock that is not acquired yet.
#[derive(Clone)]
#[must_use = "a lock does nothing until it is acquired"]
pub struct Lock(Request);

impl Lock {
    pub(crate) fn new(session: Arc<SessionClient>, name: String) -> Lock {
        Lock(Request::new(session, Kind::Lock(LockMode::Exclusive), name))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.acquire.name
    }

    /// An entry of the metadata that an update of the metadata keeps.
    pub(crate) fn kept_metadata(mut self, key: &str, value: String) -> Lock {
        self.0
            .acquire
            .wishes
            .kept
            .insert(key.to_owned(), value.clone());
        self.0.acquire.wishes.metadata.insert(key.to_owned(), value);
        self
    }

    /// Holders of a shared lock hold it together. Default: exclusive.
    pub fn shared(mut self) -> Lock {
        self.0.acquire.kind = Kind::Lock(LockMode::Shared);
        self
    }

    request_methods!("lock");
}

/// Permits of a semaphore that are not acquired yet.
#[derive(Clone)]
#[must_use = "a semaphore does nothing until its permits are acquired"]
pub struct Semaphore(Request);

impl Semaphore {
    pub(crate) fn new(
        session: Arc<SessionClient>,
        limits: Arc<SemaphoreLimits>,
        name: String,
    ) -> Semaphore {
        let kind = Kind::Permits {
            count: None,
            limit: None,
        };
        let mut request = Request::new(session, kind, name);
        request.limits = Some(limits);
        Semaphore(request)
    }

    /// The number of permits to acquire. Default: 1.
    pub fn permits(mut self, number: u32) -> Semaphore {
        if let Kind::Permits { count, .. } = &mut self.0.acquire.kind {
            *count = Some(number);
        }
        self
    }

    /// Demands the [`limit`](Semaphore::limit): if the semaphore has another one when the permits are asked
    /// for, the error is [`Error::LimitMismatch`]. Needs the permission `read`, otherwise the error is
    /// [`Error::NotAllowed`]. A later change of the limit is not noticed. Default: false.
    pub fn exact_limit(mut self, is_exact: bool) -> Semaphore {
        self.0.is_exact = is_exact;
        self
    }

    /// The limit of a semaphore that does not exist yet. An existing semaphore keeps its limit, and the log
    /// tells once of each other limit of a name.
    pub fn limit(mut self, number: u32) -> Semaphore {
        if let Kind::Permits { limit, .. } = &mut self.0.acquire.kind {
            *limit = Some(number);
        }
        self
    }

    request_methods!("permits");
}

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lock")
            .field("name", &self.0.acquire.name)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Semaphore")
            .field("name", &self.0.acquire.name)
            .finish_non_exhaustive()
    }
}
