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
use tonic::transport::Channel;
use tonic::{Code, Streaming};

use super::suggestions::{SuggestOptions, Suggestion, suggestions_of};
use crate::calls::{Calls, Line, Repetition, attempt_time, late};
use crate::connection::{Bearer, authorized};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::numbers::{CALL, DEBOUNCE};

const SILENT: &str = "the server has not answered the query in time";

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
    /// A query was sent.
    sent: Notify,
    typed: Mutex<Typed>,
}

struct Typed {
    /// The latest query without an answer.
    latest: Option<Query>,
    last_id: i64,
    repetition: Repetition,
}

struct Query {
    id: i64,
    text: String,
    due_at: Instant,
    /// The end of the wait for an answer.
    until: Instant,
    /// The time at which a silent server is left. None: the query was not sent.
    late_at: Option<Instant>,
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
        let typed = Mutex::new(Typed {
            latest: None,
            last_id: 0,
            repetition: Repetition::new(true),
        });
        let field = Field {
            calls,
            dictionary,
            options,
            wake: Notify::new(),
            sent: Notify::new(),
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
            let due_at = Instant::now() + self.debounce;
            // Dropping the sender tells the older query that it is superseded.
            typed.latest = Some(Query {
                id: typed.last_id,
                text: text.into(),
                due_at,
                until: due_at + CALL,
                late_at: None,
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
        for number in 1.. {
            self.due(None).await;
            let mut used = None;
            let error = match self.converse(number, &mut used).await {
                Ok(()) => Failure::new("", Code::Unavailable, "the stream has ended").into(),
                Err(error) => error,
            };
            if let Some(line) = &used {
                self.calls.failed(line, &error);
            }
            if let Some(pause) = self.pause_after(&error, used.is_some()) {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(())
    }

    /// The pause before the latest query is sent again. None: nobody waits, or a repetition cannot help,
    /// and the caller has the error.
    fn pause_after(&self, error: &Error, is_sent: bool) -> Option<Duration> {
        let mut typed = self.typed();
        let until = typed.latest.as_ref()?.until;
        let pause = typed.repetition.pause_after(error, is_sent);
        let pause = pause.filter(|&pause| Instant::now() + pause < until);
        if pause.is_none() {
            typed.repetition.answered();
            let query = typed.latest.take()?;
            let _ = query.answer.send(Err(error.clone()));
        }
        pause
    }

    /// Sends the queries of one stream, to its end. `used` gets the connection that was used.
    async fn converse(&self, number: u64, used: &mut Option<Line>) -> Result<()> {
        let bearer = self.calls.bearer().await?;
        let channel = used.insert(self.calls.line().await?).channel.clone();
        let opening = self.open(number, channel, bearer);
        let mut open = tokio::select! {
            open = opening => open?,
            () = self.silence() => return Err(late(SILENT)),
        };
        loop {
            tokio::select! {
                response = open.responses.message() => match response {
                    Ok(Some(response)) => self.answer(response),
                    Ok(None) => return Ok(()),
                    Err(status) => return Err(Error::of_status(&status)),
                },
                request = self.due(Some(open.number)) => {
                    // The end of the stream tells why a send fails.
                    let _ = open.requests.send(request).await;
                }
                () = self.silence() => return Err(late(SILENT)),
            }
        }
    }

    /// Waits until the latest query has waited too long for the answer of this server.
    async fn silence(&self) {
        loop {
            let late_at = self.typed().latest.as_ref().and_then(|query| query.late_at);
            match late_at {
                // An answer, or a newer query, may have come meanwhile.
                Some(at) if at <= Instant::now() => return,
                Some(at) => tokio::select! {
                    () = self.sent.notified() => {}
                    () = tokio::time::sleep_until(at) => {}
                },
                None => self.sent.notified().await,
            }
        }
    }

    /// The first query opens the stream, because a server may answer the call only with a response.
    async fn open(&self, number: u64, channel: Channel, bearer: Option<Bearer>) -> Result<Open> {
        let (requests, receiver) = mpsc::channel(1);
        let _ = requests.send(self.due(Some(number)).await).await;
        let messages = stream::unfold(receiver, |mut receiver: mpsc::Receiver<_>| async move {
            Some((receiver.recv().await?, receiver))
        });
        let request = authorized(messages, bearer.as_ref());
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
        if stream.is_some() {
            let now = Instant::now();
            let left = query.until.saturating_duration_since(now);
            query.sent_on = stream;
            query.late_at = Some(now + attempt_time(left, true));
            self.sent.notify_one();
        }
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
            Some(Answer::Error(failed)) => {
                return self.failed(typed, query, Failure::of_query(&failed).into());
            }
            None => {
                let text = "a newer server sent an unknown answer";
                Err(Failure::new("", Code::Internal, text).into())
            }
        };
        typed.repetition.answered();
        let _ = query.answer.send(answer);
    }

    /// Sends the query again after a pause, if a repetition helps.
    fn failed(&self, mut typed: MutexGuard<'_, Typed>, query: Query, error: Error) {
        let pause = typed.repetition.pause_after(&error, true);
        let due_at = pause.map(|pause| Instant::now() + pause);
        let Some(due_at) = due_at.filter(|&at| at < query.until) else {
            typed.repetition.answered();
            let _ = query.answer.send(Err(error));
            return;
        };
        typed.latest = Some(Query {
            due_at,
            sent_on: None,
            late_at: None,
            ..query
        });
        self.wake.notify_one();
    }
}

enum Next {
    Send(SuggestStreamRequest),
    At(Instant),
    Nothing,
}
