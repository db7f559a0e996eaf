//! The `error` of a result.

use std::error::Error as _;

use holdfast_client::{Error, LeaseLost};
use serde_json::{Value, json};

#[derive(Debug)]
pub struct Failure(pub Value);

impl Failure {
    pub fn other(inner: &str) -> Failure {
        Failure(json!({ "class": "other", "reason": "", "code": 2, "inner": inner, "text": inner }))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let (reason, code) = (error.reason().to_owned(), error.code() as i32);
        let text = with_sources(&error);
        let class = match &error {
            Error::Contended(_) => "contended",
            Error::LeaseLost(lost) => return lost.clone().into(),
            Error::InvalidRequest(_) => "invalid_request",
            Error::Credential(_) => "credential",
            Error::NotAllowed(_) => "not_allowed",
            Error::LimitReached(_) => "limit_reached",
            Error::NoSuchSemaphore(_) => "no_such_semaphore",
            Error::LimitMismatch(_) => "limit_mismatch",
            Error::NeverFits(_) => "never_fits",
            Error::NoSuchDictionary(_) => "no_such_dictionary",
            Error::DictionaryExists(_) => "dictionary_exists",
            Error::ImportConflict(_) => "import_conflict",
            Error::Unavailable(_) => "unavailable",
            Error::Closed => "closed",
            _ => "other",
        };
        let mut shown = json!({ "class": class, "reason": reason, "code": code, "text": text });
        if let Error::LimitMismatch(failure) = &error {
            shown["limit"] = json!(failure.limit());
            shown["expected_limit"] = json!(failure.expected_limit());
        }
        Failure(shown)
    }
}

impl From<LeaseLost> for Failure {
    fn from(lost: LeaseLost) -> Failure {
        let inner = lost.source().map(ToString::to_string).unwrap_or_default();
        let cause = lost.cause().as_str();
        Failure(json!({
            "class": "lease_lost", "reason": "LEASE_LOST", "code": 10, "cause": cause, "inner": inner,
            "text": lost.to_string(),
        }))
    }
}

/// What a program prints that shows the sources too.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
