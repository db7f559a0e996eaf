//! Work under a lease.

use std::error::Error as StdError;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::lease::Lease;
use crate::loss::LeaseLost;

/// How the work has ended.
enum Outcome<T> {
    Done(T),
    /// The lease was lost. With the value of the work, if the work came to its end.
    Lost(LeaseLost, Option<T>),
}

/// Releases the lease when the caller's future is dropped, after the work was dropped.
struct ReleaseOnDrop(Arc<Lease>);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        self.0.release_in_background();
    }
}

async fn under_lease<F, Fut, T>(lease: Lease, is_cooperative: bool, work: F) -> Outcome<T>
where
    F: FnOnce(Arc<Lease>) -> Fut,
    Fut: Future<Output = T>,
{
    let guard = ReleaseOnDrop(Arc::new(lease));
    let lease = &guard.0;
    if let Some(loss) = lease.begin_work() {
        return Outcome::Lost(loss, None);
    }
    let ended = {
        let lost = lease.lost();
        let work = work(lease.clone());
        if is_cooperative {
            Ok(work.await)
        } else {
            tokio::pin!(work, lost);
            tokio::select! {
                biased;
                loss = &mut lost => Err(loss),
                value = &mut work => Ok(value),
            }
        }
    };
    match ended {
        Err(loss) => Outcome::Lost(loss, None),
        Ok(value) => {
            // The clock is compared once more, because a timer may be late.
            if let Some(loss) = lease.loss() {
                return Outcome::Lost(loss, Some(value));
            }
            match lease.leave().await {
                Some(loss) => Outcome::Lost(loss, Some(value)),
                None => Outcome::Done(value),
            }
        }
    }
}

pub(crate) async fn run<F, Fut, T>(lease: Lease, is_cooperative: bool, work: F) -> Result<T>
where
    F: FnOnce(Arc<Lease>) -> Fut,
    Fut: Future<Output = T>,
{
    match under_lease(lease, is_cooperative, work).await {
        Outcome::Done(value) => Ok(value),
        Outcome::Lost(loss, _) => Err(loss.into()),
    }
}

pub(crate) async fn try_run<F, Fut, T, E>(
    lease: Lease,
    is_cooperative: bool,
    work: F,
) -> Result<T, E>
where
    F: FnOnce(Arc<Lease>) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: From<Error> + Into<Box<dyn StdError + Send + Sync>>,
{
    match under_lease(lease, is_cooperative, work).await {
        Outcome::Done(result) => result,
        Outcome::Lost(loss, Some(Err(error))) => Err(Error::from(with_error(loss, error)).into()),
        Outcome::Lost(loss, _) => Err(Error::from(loss).into()),
    }
}

/// The error of the work becomes the source of the loss, unless the error only tells the same loss.
fn with_error(loss: LeaseLost, error: impl Into<Box<dyn StdError + Send + Sync>>) -> LeaseLost {
    let error = error.into();
    let is_loss = error.is::<LeaseLost>()
        || error
            .downcast_ref::<Error>()
            .is_some_and(|error| matches!(error, Error::LeaseLost(_)));
    if is_loss {
        loss
    } else {
        loss.with_source(error)
    }
}
