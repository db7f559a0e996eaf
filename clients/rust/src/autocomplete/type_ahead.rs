//! Suggestions for an input field.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::stream;
use holdfast_proto::holdfast::v1::autocomplete_service_client::AutocompleteServiceClient;
use holdfast_proto::holdfast::v1::{SuggestStreamRequest, SuggestStreamResponse};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tonic::transport::Channel;
use tonic::{Code, Streaming};

use super::queries::{Next, Queries};
use super::suggestions::{SuggestOptions, Suggestion};
use crate::calls::{Calls, Line, late};
use crate::connection::{Bearer, authorized};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::numbers::{CALL, DEBOUNCE};

/// The sum of the present time and a greater `Duration` may overflow.
const LONGEST_DEBOUNCE: Duration = Duration::from_secs(3600);

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
    queries: Mutex<Queries>,
}

/// One stream of SuggestStream.
struct Open {
    number: u64,
    requests: mpsc::Sender<SuggestStreamRequest>,
    responses: Streaming<SuggestStreamResponse>,
}

impl TypeAhead {
    pub(super) fn new(calls: Arc<Calls>, dictionary: String, options: SuggestOptions) -> TypeAhead {
        let field = Field {
            calls,
            dictionary,
            options,
            wake: Notify::new(),
            sent: Notify::new(),
            queries: Mutex::new(Queries::new()),
        };
        TypeAhead {
            field: Arc::new(field),
            debounce: DEBOUNCE,
            task: OnceLock::new(),
        }
    }

    /// The pause after a keystroke before the query is sent. Default: 30 ms. Zero: each keystroke is
    /// sent. At most an hour: a longer time counts as an hour.
    #[must_use]
    pub fn debounce(mut self, time: Duration) -> TypeAhead {
        self.debounce = time.min(LONGEST_DEBOUNCE);
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
        let answered = self.field.queries().add(text.into(), self.debounce);
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
    fn queries(&self) -> MutexGuard<'_, Queries> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
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
            let pause = self.queries().pause_after(&error, used.is_some());
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(())
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
                    Ok(Some(response)) => if self.queries().answer(response) {
                        self.wake.notify_one();
                    },
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
            let late_at = self.queries().late_at();
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
            let next = self.queries().next(stream);
            let due_at = match next {
                Next::Send { id, text } => {
                    self.sent.notify_one();
                    let suggest = Some(self.options.request(&self.dictionary, &text));
                    return SuggestStreamRequest {
                        query_id: id,
                        suggest,
                    };
                }
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
}
