//! Server streams that are opened again after a break.

use std::sync::Arc;

use futures_util::{Stream, stream};
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status, Streaming};

use super::repetition::{FIRST_MESSAGE, Repetition};
use super::{Calls, Line};
use crate::connection::authorized;
use crate::error::{Error, Result};
use crate::failure::Failure;

struct Watch<Q, A, F> {
    calls: Arc<Calls>,
    message: Q,
    open: F,
    /// The stream of this moment.
    current: Option<(Line, Streaming<A>)>,
    repetition: Repetition,
    is_over: bool,
}

/// The messages of a server stream. The last item is an error: `Error::Closed` when the client is
/// closed, or an error that a repetition does not help.
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
        repetition: Repetition::new(true),
        is_over: false,
    };
    stream::unfold(start, |mut watch| async move {
        if watch.is_over {
            return None;
        }
        let calls = watch.calls.clone();
        let item = calls.until_closed(watch.next()).await;
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
            let (error, is_sent) = match self.read().await {
                Ok(item) => {
                    self.repetition.answered();
                    return Ok(item);
                }
                Err(failed) => failed,
            };
            if let Some((line, _)) = self.current.take() {
                self.calls.failed(&line, &error);
            }
            let Some(pause) = self.repetition.pause_after(&error, is_sent) else {
                return Err(error);
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// The next message. With an error: whether a server may have seen the request.
    async fn read(&mut self) -> Result<A, (Error, bool)> {
        if let Some((_, messages)) = &mut self.current {
            return one(messages).await.map_err(|error| (error, true));
        }
        let not_sent = |error| (error, false);
        let bearer = self.calls.bearer().await.map_err(not_sent)?;
        let line = self.calls.line().await.map_err(not_sent)?;
        let request = authorized(self.message.clone(), bearer.as_ref());
        let opening = (self.open)(line.channel.clone(), request);
        let first = tokio::time::timeout(FIRST_MESSAGE, async {
            let response = opening.await.map_err(|status| Error::of_status(&status))?;
            let mut messages = response.into_inner();
            Ok((one(&mut messages).await?, messages))
        });
        let failed = match first.await {
            Ok(Ok((item, messages))) => {
                self.current = Some((line, messages));
                return Ok(item);
            }
            Ok(Err(error)) => error,
            Err(_) => {
                Failure::new("", Code::Unavailable, "the server has sent nothing in time").into()
            }
        };
        self.calls.failed(&line, &failed);
        Err((failed, true))
    }
}

async fn one<A>(messages: &mut Streaming<A>) -> Result<A> {
    match messages.message().await {
        Ok(Some(item)) => Ok(item),
        Ok(None) => Err(Failure::new("", Code::Unavailable, "the stream has ended").into()),
        Err(status) => Err(Error::of_status(&status)),
    }
}
