//! Work under a lock.

use std::sync::Arc;

use holdfast_client::{Error, Lease};
use serde_json::json;
use tokio::sync::oneshot;

use crate::desk::{Desk, Fields, Reply};
use crate::failures::Failure;
use crate::leases::lock_of;

/// The error of a body.
#[derive(Debug)]
struct BodyError(Result<Error, String>);

impl From<Error> for BodyError {
    fn from(error: Error) -> BodyError {
        BodyError(Ok(error))
    }
}

impl std::fmt::Display for BodyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Ok(error) => error.fmt(f),
            Err(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for BodyError {}

/// Tells the end of a body. A body that is dropped is cancelled.
struct Body {
    desk: Arc<Desk>,
    of: u64,
    token: String,
    is_running: bool,
}

impl Body {
    fn tell(&self, state: &str) {
        let message =
            json!({ "event": "body", "of": self.of, "state": state, "token": self.token });
        self.desk.tell(message);
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if self.is_running {
            self.tell("cancelled");
        }
        self.tell("ended");
    }
}

/// Runs a body under a lock. The body ends by `end_work`, or by its cancellation.
pub async fn with_lock(desk: &Arc<Desk>, fields: &Fields) -> Reply {
    let mut lock = lock_of(&desk.client(fields)?, fields);
    let ignores_cancel = fields.0["ignore_cancel"] == true;
    if ignores_cancel {
        lock = lock.cooperative();
    }
    let of = fields.number("id").unwrap_or_default();
    let result = lock
        .try_run(|lease: Arc<Lease>| {
            let token = lease.fencing_token().unwrap_or_default().to_string();
            let body = Body {
                desk: desk.clone(),
                of,
                token,
                is_running: true,
            };
            let ended = desk.add_work(of);
            body.tell("started");
            work(lease, body, ended, ignores_cancel)
        })
        .await;
    match result {
        Ok(()) => Ok(json!({ "done": true })),
        Err(BodyError(Ok(error))) => Err(error.into()),
        Err(BodyError(Err(text))) => Err(Failure::other(&text)),
    }
}

async fn work(
    lease: Arc<Lease>,
    mut body: Body,
    mut ended: oneshot::Receiver<Option<String>>,
    ignores_cancel: bool,
) -> Result<(), BodyError> {
    let fail = if ignores_cancel {
        tokio::select! {
            fail = &mut ended => fail,
            _ = lease.lost() => {
                body.tell("cancelled");
                ended.await
            }
        }
    } else {
        ended.await
    };
    body.is_running = false;
    match fail {
        Ok(Some(text)) => Err(BodyError(Err(text))),
        _ => Ok(()),
    }
}

pub fn end_work(desk: &Desk, fields: &Fields) -> Reply {
    let fail = fields.0["fail"].as_str().map(str::to_owned);
    desk.end_work(fields.number("of").unwrap_or_default(), fail);
    Ok(json!({ "ended": true }))
}
