//! The queries of an input field: only the latest one waits for an answer.

use std::time::Duration;

use holdfast_proto::holdfast::v1::SuggestStreamResponse;
use holdfast_proto::holdfast::v1::suggest_stream_response::Result as Answer;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tonic::Code;

use super::suggestions::{Suggestion, suggestions_of};
use crate::calls::{Repetition, attempt_time};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::numbers::CALL;

pub(super) type Suggested = oneshot::Receiver<Result<Vec<Suggestion>>>;

pub(super) struct Queries {
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

/// What a stream has to do.
pub(super) enum Next {
    Send { id: i64, text: String },
    At(Instant),
    Nothing,
}

impl Queries {
    pub(super) fn new() -> Queries {
        Queries {
            latest: None,
            last_id: 0,
            repetition: Repetition::new(true),
        }
    }

    /// Supersedes the older query. The end of the channel tells the caller of the older query.
    pub(super) fn add(&mut self, text: String, debounce: Duration) -> Suggested {
        let (answer, answered) = oneshot::channel();
        self.last_id += 1;
        let due_at = Instant::now() + debounce;
        self.latest = Some(Query {
            id: self.last_id,
            text,
            due_at,
            until: due_at + CALL,
            late_at: None,
            sent_on: None,
            answer,
        });
        answered
    }

    /// The latest query, if the stream was not sent it and its debounce has ended.
    pub(super) fn next(&mut self, stream: Option<u64>) -> Next {
        let Some(query) = self.wanted() else {
            return Next::Nothing;
        };
        if stream.is_some() && query.sent_on == stream {
            return Next::Nothing;
        }
        let now = Instant::now();
        if query.due_at > now {
            return Next::At(query.due_at);
        }
        if stream.is_some() {
            let left = query.until.saturating_duration_since(now);
            query.sent_on = stream;
            query.late_at = Some(now + attempt_time(left, true));
        }
        Next::Send {
            id: query.id,
            text: query.text.clone(),
        }
    }

    /// The time at which the server of the latest query is left.
    pub(super) fn late_at(&mut self) -> Option<Instant> {
        self.wanted()?.late_at
    }

    /// Returns true if the query has to be sent again.
    pub(super) fn answer(&mut self, response: SuggestStreamResponse) -> bool {
        let Some(query) = self.latest.take_if(|query| query.id == response.query_id) else {
            return false;
        };
        let answer = match response.result {
            Some(Answer::Suggestions(found)) => Ok(suggestions_of(found.suggestions)),
            Some(Answer::Error(failed)) => {
                self.latest = Some(query);
                let error = Failure::of_query(&failed).into();
                return self.pause_after(&error, true).is_some();
            }
            None => {
                let text = "a newer server sent an unknown answer";
                Err(Failure::new("", Code::Internal, text).into())
            }
        };
        self.repetition.answered();
        let _ = query.answer.send(answer);
        false
    }

    /// The pause before the latest query is sent again. None: nobody waits, or a repetition cannot help,
    /// and the caller has the error.
    pub(super) fn pause_after(&mut self, error: &Error, is_sent: bool) -> Option<Duration> {
        self.wanted()?;
        let pause = self.repetition.pause_after(error, is_sent);
        let query = self.latest.as_mut()?;
        let due_at = pause.map(|pause| Instant::now() + pause);
        if let Some(due_at) = due_at.filter(|&at| at < query.until) {
            query.due_at = query.due_at.max(due_at);
            (query.sent_on, query.late_at) = (None, None);
            return pause;
        }
        self.repetition.answered();
        let _ = self.latest.take()?.answer.send(Err(error.clone()));
        None
    }

    /// The latest query, if its caller still waits.
    fn wanted(&mut self) -> Option<&mut Query> {
        let query = self.latest.as_mut();
        query.filter(|query| !query.answer.is_closed())
    }
}
