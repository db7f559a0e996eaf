//! The calls outside of the session, on a connection of their own, to one of several servers.

mod pages;
mod repetition;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch as flag;
use tokio::time::Instant;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use crate::connection::{Bearer, Connector, Servers, authorized};
use crate::error::{Error, Result};
use crate::numbers::{CALL, KEEPALIVE, KEEPALIVE_TIMEOUT, SILENCE};
use repetition::{is_broken, is_late};

pub(crate) use pages::pages;
pub(crate) use repetition::{Repetition, attempt_time, late};
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
    servers: Servers,
    connector: Arc<Connector>,
    current: Mutex<Current>,
    closed: flag::Sender<bool>,
}

#[derive(Default)]
struct Current {
    /// The number of servers that the client has left.
    left: usize,
    channel: Option<Channel>,
    /// The start of the first call since the last answer.
    silent_since: Option<Instant>,
}

/// The connection to the current server.
pub(crate) struct Line {
    pub(crate) channel: Channel,
    number: usize,
}

impl Calls {
    pub(crate) fn new(servers: Servers, connector: Arc<Connector>) -> Calls {
        let closed = flag::Sender::new(false);
        Calls {
            servers,
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
        let turn = self.servers.next().await;
        let endpoint = self.connector.endpoint(&turn.server).await?;
        let opened = endpoint
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .connect_lazy();
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
            current.silent_since = None;
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
        let mut repetition = Repetition::new(limits.is_idempotent);
        loop {
            let mut used = None;
            let attempt = self.once(limits, until, &message, &call, &mut used);
            let error = match attempt.await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if let Some(line) = &used {
                self.failed(line, &error);
            }
            let Some(pause) = repetition.pause_after(&error, used.is_some()) else {
                return Err(error);
            };
            if Instant::now() + pause >= until {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// One attempt. `used` gets the connection that was used.
    async fn once<Q, A, F, Fut>(
        &self,
        limits: Limits,
        until: Instant,
        message: &Q,
        call: &F,
        used: &mut Option<Line>,
    ) -> Result<A>
    where
        Q: Clone,
        F: Fn(Channel, Request<Q>) -> Fut,
        Fut: Future<Output = Result<Response<A>, Status>>,
    {
        let left = || until.saturating_duration_since(Instant::now());
        let bearer = tokio::time::timeout(left(), self.bearer())
            .await
            .map_err(|_| Error::no_answer("the source of tokens did not answer in time", None))??;
        let line = self.line().await?;
        let channel = line.channel.clone();
        let line = used.insert(line);
        self.asked(line);
        let time = attempt_time(left(), limits.is_idempotent);
        let mut request = authorized(message.clone(), bearer.as_ref());
        request.set_timeout(time);
        match tokio::time::timeout(time, call(channel, request)).await {
            Ok(Ok(response)) => {
                self.answered(line);
                Ok(response.into_inner())
            }
            Ok(Err(status)) => Err(Error::of_status(&status)),
            Err(_) => Err(late("no server answered the call in time")),
        }
    }

    /// A call begins.
    fn asked(&self, line: &Line) {
        let mut current = self.current();
        if current.left == line.number {
            current.silent_since.get_or_insert_with(Instant::now);
        }
    }

    /// The server has answered a call.
    fn answered(&self, line: &Line) {
        let mut current = self.current();
        if current.left == line.number {
            current.silent_since = None;
        }
    }

    /// Takes note of a failed call or stream: later calls leave a broken connection.
    pub(crate) fn failed(&self, line: &Line, error: &Error) {
        if is_late(error) {
            // The caller's own short timeout says little about the server.
            let since = self.current().silent_since;
            if since.is_some_and(|since| since.elapsed() < SILENCE) {
                return;
            }
        } else if !error.reason().is_empty() {
            self.answered(line);
        }
        if is_broken(error) {
            self.leave(line);
        }
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
