//! The calls outside of the session, on a connection of their own, to one of several servers.

mod pages;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch as flag;
use tokio::time::Instant;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use crate::connection::{Bearer, Connector, authorized};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::numbers::{
    CALL, CALL_IS_REPEATED, CREDENTIAL_IS_FETCHED_ONCE_MORE, IDEMPOTENT_CALL_IS_REPEATED,
};
use crate::pauses;

pub(crate) use pages::pages;
pub(crate) use watch::watch;

/// The limits of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The longest time of the call, retries included.
    pub(crate) timeout: Duration,
    /// A second run does no harm, so the call is repeated after a broken connection too.
    pub(crate) is_idempotent: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            timeout: CALL,
            is_idempotent: true,
        }
    }
}

impl Limits {
    /// For a call that must not run twice.
    pub(crate) const ONCE: Limits = Limits {
        timeout: CALL,
        is_idempotent: false,
    };
}

pub(crate) struct Calls {
    addresses: Vec<Arc<str>>,
    connector: Arc<Connector>,
    current: Mutex<Current>,
    closed: flag::Sender<bool>,
}

#[derive(Default)]
struct Current {
    /// The number of servers that the client has left.
    left: usize,
    channel: Option<Channel>,
}

/// The connection to the current server.
pub(crate) struct Line {
    pub(crate) channel: Channel,
    number: usize,
}

impl Calls {
    pub(crate) fn new(addresses: Vec<Arc<str>>, connector: Arc<Connector>) -> Calls {
        let closed = flag::Sender::new(false);
        Calls {
            addresses,
            connector,
            current: Mutex::default(),
            closed,
        }
    }

    /// Repeats the call at the next server where a repetition helps.
    pub(crate) async fn unary<Q, A, F, Fut>(&self, limits: Limits, message: Q, call: F) -> Result<A>
    where
        Q: Clone,
        F: Fn(Channel, Request<Q>) -> Fut,
        Fut: Future<Output = Result<Response<A>, Status>>,
    {
        self.until_closed(self.repeat(limits, message, call)).await
    }

    /// The connection to the current server. Fails if a certificate cannot be read.
    pub(crate) async fn line(&self) -> Result<Line> {
        let (number, channel) = {
            let current = self.current();
            (current.left, current.channel.clone())
        };
        if let Some(channel) = channel {
            return Ok(Line { channel, number });
        }
        let address = &self.addresses[number % self.addresses.len()];
        let opened = self.connector.endpoint(address).await?.connect_lazy();
        let mut current = self.current();
        if current.left != number {
            // Another call has left this server meanwhile.
            return Ok(Line {
                channel: opened,
                number,
            });
        }
        let channel = current.channel.get_or_insert(opened).clone();
        Ok(Line { channel, number })
    }

    /// Later calls go to the next server. Without effect if other calls have already left the server.
    pub(crate) fn leave(&self, line: &Line) {
        let mut current = self.current();
        if current.left == line.number {
            current.left += 1;
            current.channel = None;
        }
    }

    pub(crate) async fn bearer(&self) -> Result<Option<Bearer>> {
        self.connector.bearer().await
    }

    pub(crate) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Runs a future until the client is closed.
    pub(crate) async fn until_closed<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut closed = self.closed.subscribe();
        tokio::select! {
            biased;
            _ = closed.wait_for(|&is_closed| is_closed) => Err(Error::Closed),
            result = work => result,
        }
    }

    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
        self.current().channel = None;
    }

    async fn repeat<Q, A, F, Fut>(&self, limits: Limits, message: Q, call: F) -> Result<A>
    where
        Q: Clone,
        F: Fn(Channel, Request<Q>) -> Fut,
        Fut: Future<Output = Result<Response<A>, Status>>,
    {
        let until = Instant::now() + limits.timeout;
        let mut credential_failures = 0;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let line = self.line().await?;
            let mut request = authorized(message.clone(), self.bearer().await?.as_ref());
            request.set_timeout(until.saturating_duration_since(Instant::now()));
            let answer = tokio::time::timeout_at(until, call(line.channel.clone(), request)).await;
            let error = match answer {
                Ok(Ok(response)) => return Ok(response.into_inner()),
                Ok(Err(status)) => Error::of_status(&status),
                Err(_) => Error::no_answer("no server answered the call in time", None),
            };
            let is_credential = CREDENTIAL_IS_FETCHED_ONCE_MORE.contains(&error.reason());
            if is_credential {
                credential_failures += 1;
            }
            if matches!(error.code(), Code::Unavailable | Code::DeadlineExceeded) {
                self.leave(&line);
            }
            let is_final = match is_credential {
                true => credential_failures > 1,
                false => !is_repeated(&error, limits.is_idempotent),
            };
            let advised = error.failure().and_then(Failure::retry_delay);
            let pause = match is_credential {
                true => Duration::ZERO,
                false => pauses::before_repeat(attempts, advised),
            };
            if is_final || Instant::now() + pause >= until {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The empty reason belongs to a broken connection.
fn is_repeated(error: &Error, is_idempotent: bool) -> bool {
    let reason = error.reason();
    CALL_IS_REPEATED.contains(&reason)
        || is_idempotent
            && error.code() == Code::Unavailable
            && (reason.is_empty() || IDEMPOTENT_CALL_IS_REPEATED.contains(&reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(reason: &str, code: Code) -> Error {
        Failure::new(reason, code, "text").into()
    }

    #[test]
    fn a_call_that_may_have_run_is_repeated_only_if_a_second_run_does_no_harm() {
        let broken = failed("", Code::Unavailable);
        assert!(is_repeated(&broken, true));
        assert!(!is_repeated(&broken, false));
        assert!(is_repeated(&failed("DRAINING", Code::Unavailable), false));
        assert!(!is_repeated(
            &failed("NOT_ALLOWED", Code::PermissionDenied),
            true
        ));
    }
}
