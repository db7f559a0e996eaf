//! The limits of semaphores. A server grants permits of an existing semaphore whatever limit the request
//! has, and a grant does not tell the limit.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_proto::holdfast::v1::GetSemaphoreRequest;
use holdfast_proto::holdfast::v1::semaphore_service_client::SemaphoreServiceClient;
use tokio::time::Instant;
use tonic::Code;

use crate::calls::{Calls, Limits};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::lease::Lease;
use crate::numbers::{ANSWER_AFTER_WAIT, CALL};
use crate::session::{Acquire, SessionClient, other_limit};

/// Further limits are not compared. A program with so many makes their names as it goes.
const MAX_COMPARISONS: usize = 10_000;

/// Compares the limit of the caller with the limit in force.
pub(crate) struct SemaphoreLimits {
    calls: Arc<Calls>,
    /// The names, each with a limit that was wanted of it.
    compared: Mutex<HashSet<(String, u32)>>,
    /// Names whose limit the caller may not read.
    hidden: Mutex<HashSet<String>>,
}

impl SemaphoreLimits {
    pub(crate) fn new(calls: Arc<Calls>) -> SemaphoreLimits {
        SemaphoreLimits {
            calls,
            compared: Mutex::default(),
            hidden: Mutex::default(),
        }
    }

    /// Acquires permits only if the semaphore has the limit.
    pub(crate) async fn acquire_exactly(
        &self,
        session: &Arc<SessionClient>,
        mut acquire: Acquire,
        limit: u32,
    ) -> Result<Lease> {
        let begin = Instant::now();
        let name = acquire.name.clone();
        let answer = |wait: Duration| CALL.min(wait.saturating_add(ANSWER_AFTER_WAIT));
        let exists = self
            .compare(&name, limit, acquire.wait.map_or(CALL, answer))
            .await?;
        acquire.wait = acquire
            .wait
            .map(|wait| wait.saturating_sub(begin.elapsed()));
        // Dropping the lease releases it.
        let lease = Lease::acquire(session, acquire).await?;
        // Another client may have created the semaphore before this acquire.
        if !exists && !self.compare(&name, limit, CALL).await? {
            let text = format!("the semaphore {name:?} was deleted meanwhile");
            return Err(Failure::new("NO_SUCH_SEMAPHORE", Code::NotFound, text).into());
        }
        Ok(lease)
    }

    /// False: there is no semaphore yet.
    async fn compare(&self, name: &str, expected: u32, timeout: Duration) -> Result<bool> {
        let Some(limit) = self.limit_of(name, timeout).await? else {
            return Ok(false);
        };
        if i64::from(limit) == i64::from(expected) {
            return Ok(true);
        }
        let text = format!(
            "the semaphore {name:?} has the limit {limit}, and exact_limit demands {expected}"
        );
        let metadata = BTreeMap::from([
            ("limit".to_owned(), limit.to_string()),
            ("expected_limit".to_owned(), expected.to_string()),
        ]);
        let failure = Failure::new("LIMIT_MISMATCH", Code::FailedPrecondition, text);
        Err(failure.with_metadata(metadata).into())
    }

    /// Warns of another limit, once for each limit of a name, after its first grant. Neither delays nor
    /// fails the grant, and whoever may not read the limit gets no warning.
    pub(crate) fn compare_later(self: &Arc<Self>, name: &str, expected: u32) {
        let wanted = (name.to_owned(), expected);
        {
            let mut compared = self.compared();
            if compared.len() >= MAX_COMPARISONS
                || self.hidden().contains(name)
                || !compared.insert(wanted.clone())
            {
                return;
            }
        }
        let limits = Arc::downgrade(self);
        tokio::spawn(async move {
            let Some(limits) = limits.upgrade() else {
                return;
            };
            match limits.limit_of(&wanted.0, CALL).await {
                Ok(Some(limit)) if i64::from(limit) == i64::from(expected) => {}
                Ok(Some(limit)) => other_limit(&wanted.0, limit, expected),
                // Each later question would be refused, too.
                Err(Error::NotAllowed(_)) => {
                    limits.hidden().insert(wanted.0);
                }
                // Without an answer the next grant asks again.
                Ok(None) | Err(_) => {
                    limits.compared().remove(&wanted);
                }
            }
        });
    }

    fn hidden(&self) -> MutexGuard<'_, HashSet<String>> {
        self.hidden.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compared(&self) -> MutexGuard<'_, HashSet<(String, u32)>> {
        self.compared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None: there is no semaphore. A paused one counts with the limit that comes back.
    async fn limit_of(&self, name: &str, timeout: Duration) -> Result<Option<i32>> {
        let limits = Limits {
            timeout,
            is_idempotent: true,
        };
        let request = GetSemaphoreRequest {
            name: name.to_owned(),
        };
        let call = self
            .calls
            .unary(limits, request, |channel, request| async move {
                SemaphoreServiceClient::new(channel)
                    .get_semaphore(request)
                    .await
            });
        match call.await {
            Ok(answer) => Ok(answer.semaphore.map(|semaphore| {
                semaphore.kept_limit.max(semaphore.limit) // one of them is 0
            })),
            Err(Error::NoSuchSemaphore(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
