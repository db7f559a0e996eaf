//! Server streams that are opened again after a break.

use std::sync::Arc;

use futures_util::{Stream, stream};
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status, Streaming};

use super::{Calls, Line};
use crate::connection::authorized;
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::pauses;

struct Watch<Q, A, F> {
    calls: Arc<Calls>,
    message: Q,
    open: F,
    /// The stream of this moment.
    current: Option<(Line, Streaming<A>)>,
    failures: u32,
    is_over: bool,
}

/// The messages of a server stream, until the client is closed or a repetition cannot help.
pub(crate) fn watch<Q, A, F, Fut>(
    calls: Arc<Calls>,
    message: Q,
    open: F,
) -> impl Stream<Item = Result<A>> + Send
where
    Q: Clone + Send + Sync + 'static,
    A: Send + 'static,
    F: Fn(Channel, Request<Q>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Response<Streaming<A>>, Status>> + Send,
{
    let start = Watch {
        calls,
        message,
        open,
        current: None,
        failures: 0,
        is_over: false,
    };
    stream::unfold(start, |mut watch| async move {
        if watch.is_over {
            return None;
        }
        let calls = watch.calls.clone();
        let item = calls.until_closed(watch.next()).await;
        if matches!(item, Err(Error::Closed)) {
            return None;
        }
        watch.is_over = item.is_err();
        Some((item, watch))
    })
}

impl<Q, A, F, Fut> Watch<Q, A, F>
where
    Q: Clone,
    F: Fn(Channel, Request<Q>) -> Fut,
    Fut: Future<Output = Result<Response<Streaming<A>>, Status>>,
{
    async fn next(&mut self) -> Result<A> {
        loop {
            let status = match self.read().await? {
                Ok(Some(item)) => {
                    self.failures = 0;
                    return Ok(item);
                }
                Ok(None) => None,
                Err(status) => Some(status),
            };
            let error = status.as_ref().map(Error::of_status);
            if let Some(error) = error
                .as_ref()
                .filter(|error| error.code() != Code::Unavailable)
            {
                return Err(error.clone());
            }
            if let Some((line, _)) = self.current.take() {
                self.calls.leave(&line);
            }
            self.failures += 1;
            let advised = error
                .as_ref()
                .and_then(Error::failure)
                .and_then(Failure::retry_delay);
            tokio::time::sleep(pauses::before_repeat(self.failures, advised)).await;
        }
    }

    async fn read(&mut self) -> Result<Result<Option<A>, Status>> {
        if self.current.is_none() {
            let line = self.calls.line().await?;
            let request = authorized(self.message.clone(), self.calls.bearer().await?.as_ref());
            match (self.open)(line.channel.clone(), request).await {
                Ok(response) => self.current = Some((line, response.into_inner())),
                Err(status) => {
                    self.calls.leave(&line);
                    return Ok(Err(status));
                }
            }
        }
        match &mut self.current {
            Some((_, messages)) => Ok(messages.message().await),
            None => Ok(Ok(None)),
        }
    }
}
