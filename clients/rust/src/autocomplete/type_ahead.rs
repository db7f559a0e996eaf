//! Suggestions for an input field.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::stream;
use holdfast_proto::holdfast::v1::autocomplete_service_client::AutocompleteServiceClient;
use holdfast_proto::holdfast::v1::suggest_stream_response::Result as Answer;
use holdfast_proto::holdfast::v1::{SuggestStreamRequest, SuggestStreamResponse};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tonic::{Code, Streaming};

use super::suggestions::{SuggestOptions, Suggestion, suggestions_of};
use crate::calls::Calls;
use crate::connection::authorized;
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::numbers::{CALL, DEBOUNCE};
use crate::pauses;

/// Suggestions for an input field. One stream answers all keystrokes, and a newer query supersedes the
/// older ones. Dropping it ends the stream.
pub struct TypeAhead {
    field: Arc<Field>,
    debounce: Duration,
    /// Begins with the first query.
    task: OnceLock<JoinHandle<()>>,
}

struct Field {
    calls: Arc<Calls>,
    dictionary: String,
    options: SuggestOptions,
    wake: Notify,
    typed: Mutex<Typed>,
}

#[derive(Default)]
struct Typed {
    /// The latest query without an answer.
    latest: Option<Query>,
    last_id: i64,
}

struct Query {
    id: i64,
    text: String,
    due_at: Instant,
    /// The number of the stream that was sent the query.
    sent_on: Option<u64>,
    answer: oneshot::Sender<Result<Vec<Suggestion>>>,
}

/// One stream of SuggestStream.
struct Open {
    number: u64,
    requests: mpsc::Sender<SuggestStreamRequest>,
    responses: Streaming<SuggestStreamResponse>,
}

impl TypeAhead {
    pub(super) fn new(calls: Arc<Calls>, dictionary: String, options: SuggestOptions) -> TypeAhead {
        let typed = Mutex::default();
        let field = Field {
            calls,
            dictionary,
            options,
            wake: Notify::new(),
            typed,
        };
        TypeAhead {
            field: Arc::new(field),
            debounce: DEBOUNCE,
            task: OnceLock::new(),
        }
    }

    /// The pause after a keystroke before the query is sent. Default: 30 ms. Zero: each keystroke is
    /// sent.
    #[must_use]
    pub fn debounce(mut self, time: Duration) -> TypeAhead {
        self.debounce = time;
        self
    }

    /// The suggestions for the text of the input field. None: a newer query has superseded this one, so
    /// show nothing. After a break the next server gets the latest query.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if no server answers within 10 s, [`Error::NoSuchDictionary`],
    /// [`Error::Closed`] if the client is closed.
    pub async fn suggest(&self, text: impl Into<String>) -> Result<Option<Vec<Suggestion>>> {
        if self.field.calls.is_closed() {
            return Err(Error::Closed);
        }
        let (answer, answered) = oneshot::channel();
        {
            let mut typed = self.field.typed();
            typed.last_id += 1;
            // Dropping the sender tells the older query that it is superseded.
            typed.latest = Some(Query {
                id: typed.last_id,
                text: text.into(),
                due_at: Instant::now() + self.debounce,
                sent_on: None,
                answer,
            });
        }
        self.task
            .get_or_init(|| tokio::spawn(self.field.clone().run()));
        self.field.wake.notify_one();
        let answered = self.field.calls.until_closed(async { Ok(answered.await) });
        match tokio::time::timeout(CALL + self.debounce, answered).await {
            Ok(Ok(Ok(suggestions))) => suggestions.map(Some),
            Ok(Ok(Err(_))) => Ok(None),
            Ok(Err(closed)) => Err(closed),
            Err(_) => Err(Error::no_answer(
                "no server answered the query in time",
                None,
            )),
        }
    }
}

impl Drop for TypeAhead {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

impl std::fmt::Debug for TypeAhead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TypeAhead")
            .field("dictionary", &self.field.dictionary)
            .finish_non_exhaustive()
    }
}

impl Field {
    fn typed(&self) -> MutexGuard<'_, Typed> {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs until the client is closed.
    async fn run(self: Arc<Self>) {
        let calls = self.calls.clone();
        let _ = calls.until_closed(self.serve()).await;
    }

    /// Opens a stream for the first query, and another one after a break.
    async fn serve(&self) -> Result<()> {
        let mut failures = 0;
        for number in 1.. {
            self.due(None).await;
            let error = match self.converse(number, &mut failures).await {
                Ok(()) => Failure::new("", Code::Unavailable, "the stream ended").into(),
                Err(error) => error,
            };
            failures += 1;
            let is_wanted = {
                let mut typed = self.typed();
                if error.code() != Code::Unavailable
                    && let Some(query) = typed.latest.take()
                {
                    let _ = query.answer.send(Err(error.clone()));
                }
                typed.latest.is_some()
            };
            if is_wanted {
                let advised = error.failure().and_then(Failure::retry_delay);
                tokio::time::sleep(pauses::before_repeat(failures, advised)).await;
            }
        }
        Ok(())
    }

    /// Sends the queries of one stream, to its end.
    async fn converse(&self, number: u64, failures: &mut u32) -> Result<()> {
        let line = self.calls.line().await?;
        let result = async {
            let mut open = self.open(number, line.channel.clone()).await?;
            loop {
                tokio::select! {
                    response = open.responses.message() => match response {
                        Ok(Some(response)) => {
                            *failures = 0;
                            self.answer(response);
                        }
                        Ok(None) => return Ok(()),
                        Err(status) => return Err(Error::of_status(&status)),
                    },
                    request = self.due(Some(open.number)) => {
                        // The end of the stream tells why a send fails.
                        let _ = open.requests.send(request).await;
                    }
                }
            }
        }
        .await;
        if result
            .as_ref()
            .map_or_else(|error| error.code() == Code::Unavailable, |()| true)
        {
            self.calls.leave(&line);
        }
        result
    }

    /// The first query opens the stream, because a server may answer the call only with a response.
    async fn open(&self, number: u64, channel: tonic::transport::Channel) -> Result<Open> {
        let (requests, receiver) = mpsc::channel(1);
        let _ = requests.send(self.due(Some(number)).await).await;
        let messages = stream::unfold(receiver, |mut receiver: mpsc::Receiver<_>| async move {
            Some((receiver.recv().await?, receiver))
        });
        let request = authorized(messages, self.calls.bearer().await?.as_ref());
        let mut stub = AutocompleteServiceClient::new(channel);
        match stub.suggest_stream(request).await {
            Ok(response) => Ok(Open {
                number,
                requests,
                responses: response.into_inner(),
            }),
            Err(status) => Err(Error::of_status(&status)),
        }
    }

    /// Waits for the latest query that the stream was not sent, and for the end of its debounce.
    async fn due(&self, stream: Option<u64>) -> SuggestStreamRequest {
        loop {
            let due_at = match self.next(stream) {
                Next::Send(request) => return request,
                Next::At(due_at) => Some(due_at),
                Next::Nothing => None,
            };
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep_until(due_at.unwrap_or_else(Instant::now)),
                    if due_at.is_some() => {}
            }
        }
    }

    fn next(&self, stream: Option<u64>) -> Next {
        let mut typed = self.typed();
        let Some(query) = &mut typed.latest else {
            return Next::Nothing;
        };
        if query.answer.is_closed() || (stream.is_some() && query.sent_on == stream) {
            return Next::Nothing;
        }
        if query.due_at > Instant::now() {
            return Next::At(query.due_at);
        }
        query.sent_on = stream.or(query.sent_on);
        let suggest = Some(self.options.request(&self.dictionary, &query.text));
        Next::Send(SuggestStreamRequest {
            query_id: query.id,
            suggest,
        })
    }

    fn answer(&self, response: SuggestStreamResponse) {
        let mut typed = self.typed();
        let Some(query) = typed.latest.take_if(|query| query.id == response.query_id) else {
            return;
        };
        let answer = match response.result {
            Some(Answer::Suggestions(found)) => Ok(suggestions_of(found.suggestions)),
            Some(Answer::Error(failed)) => Err(Failure::of_query(&failed).into()),
            None => {
                let text = "a newer server sent an unknown answer";
                Err(Failure::new("", Code::Internal, text).into())
            }
        };
        let _ = query.answer.send(answer);
    }
}

enum Next {
    Send(SuggestStreamRequest),
    At(Instant),
    Nothing,
}
