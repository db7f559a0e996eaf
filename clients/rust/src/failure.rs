//! What a server, a command or the gRPC library says about a failure.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use holdfast_proto::google::rpc;
use holdfast_proto::holdfast::v1::{CommandFailed, SuggestError};
use prost::Message;
use tonic::{Code, Status};

use crate::clock;
use crate::numbers::MAX_TEXT_BYTES;
use crate::server_texts::own_names;

const DOMAIN: &str = "holdfast";
const REASON_TRAILER: &str = "holdfast-reason";
const PUSHBACK_TRAILER: &str = "grpc-retry-pushback-ms";

/// The facts of an error. Decide by the variant of the error or by `reason`, never by the text.
#[derive(Clone)]
pub struct Failure(Arc<Facts>);

#[derive(Clone, Debug)]
struct Facts {
    reason: String,
    code: Code,
    message: String,
    metadata: BTreeMap<String, String>,
    retry_delay: Option<Duration>,
    violations: Vec<FieldViolation>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// An invalid field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldViolation {
    /// The path of the field, spelled as in the proto files.
    pub field: String,
    /// A text for people: what is wrong with the field.
    pub description: String,
}

impl Failure {
    pub(crate) fn new(reason: &str, code: Code, message: impl Into<String>) -> Failure {
        Failure(Arc::new(Facts {
            reason: reason.to_owned(),
            code,
            message: message.into(),
            metadata: BTreeMap::new(),
            retry_delay: None,
            violations: Vec::new(),
            source: None,
        }))
    }

    /// The library itself refuses an option.
    pub(crate) fn of_option(field: &str, description: &str) -> Failure {
        let mut failure = Failure::new(
            "INVALID_FIELD",
            Code::InvalidArgument,
            format!("{field} {description}"),
        );
        Arc::make_mut(&mut failure.0).violations = vec![FieldViolation {
            field: field.to_owned(),
            description: description.to_owned(),
        }];
        failure
    }

    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Failure {
        Arc::make_mut(&mut self.0).source = Some(source.into().into());
        self
    }

    pub(crate) fn with_metadata(mut self, metadata: BTreeMap<String, String>) -> Failure {
        Arc::make_mut(&mut self.0).metadata = metadata;
        self
    }

    pub(crate) fn of_command(failed: CommandFailed) -> Failure {
        Failure(Arc::new(Facts {
            reason: failed.reason_text,
            code: Code::from_i32(failed.code),
            message: own_names(&failed.message),
            metadata: failed.metadata,
            retry_delay: clock::span(failed.retry_delay.as_ref()),
            violations: failed
                .violations
                .into_iter()
                .map(|one| FieldViolation {
                    field: one.field,
                    description: own_names(&one.description),
                })
                .collect(),
            source: None,
        }))
    }

    pub(crate) fn of_query(failed: &SuggestError) -> Failure {
        let reason = failed.reason().as_str_name();
        let reason = reason.strip_prefix("ERROR_REASON_").unwrap_or(reason);
        Failure::new(reason, Code::from_i32(failed.code), failed.message.clone())
    }

    /// Reads the details and trailers of a server. Without a reason the failure is of the gRPC library.
    pub(crate) fn of_status(status: &Status) -> Failure {
        let details = rpc::Status::decode(status.details()).ok();
        let found = details.and_then(|details| of_details(&details, status));
        if let Some(failure) = found {
            return failure;
        }
        let trailer = |name| {
            status
                .metadata()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let reason = trailer(REASON_TRAILER);
        let code = match status.code() {
            // The connection broke: tonic has no code of its own for that.
            Code::Unknown | Code::Cancelled | Code::Internal
                if reason.is_none() && status.source().is_some() =>
            {
                Code::Unavailable
            }
            code => code,
        };
        let message = match status.message() {
            "" => "the call ended without a text".to_owned(),
            text => own_names(text),
        };
        let mut failure = Failure::new(reason.unwrap_or_default(), code, message);
        let pushback = trailer(PUSHBACK_TRAILER).and_then(|text| text.parse().ok());
        Arc::make_mut(&mut failure.0).retry_delay = pushback.map(Duration::from_millis);
        failure
    }

    /// An ErrorReason without its prefix, see docs/errors.md. Empty: the error comes from the gRPC
    /// library, and `code` says more.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The gRPC status code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// A text for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The facts that error_reason.proto lists for the reason, for example `holder_id`.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.0.metadata
    }

    /// The limit in force, of [`Error::LimitMismatch`](crate::Error::LimitMismatch) and
    /// [`Error::NeverFits`](crate::Error::NeverFits).
    pub fn limit(&self) -> Option<i32> {
        self.number("limit")
    }

    /// The limit that the caller demands, of [`Error::LimitMismatch`](crate::Error::LimitMismatch).
    pub fn expected_limit(&self) -> Option<i32> {
        self.number("expected_limit")
    }

    /// The label of one holder, of [`Error::Contended`](crate::Error::Contended). None: it has none, or the
    /// caller may not read the name.
    pub fn holder_id(&self) -> Option<&str> {
        let label = self.0.metadata.get("holder_id")?;
        Some(label.as_str()).filter(|label| !label.is_empty())
    }

    /// The number of waiters, of [`Error::Contended`](crate::Error::Contended).
    pub fn waiter_count(&self) -> Option<i32> {
        self.number("waiter_count")
    }

    fn number(&self, key: &str) -> Option<i32> {
        self.0.metadata.get(key)?.parse().ok()
    }

    /// The delay before a retry. None: the server advises no retry.
    pub fn retry_delay(&self) -> Option<Duration> {
        self.0.retry_delay
    }

    /// All invalid fields of the request.
    pub fn violations(&self) -> &[FieldViolation] {
        &self.0.violations
    }
}

/// A failure if no message can have the text.
pub(crate) fn check_text(field: &str, text: &str) -> Result<(), Failure> {
    check_size(field, text.len())
}

/// A failure if no message can have the metadata.
pub(crate) fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), Failure> {
    let sizes = metadata.iter().map(|(key, value)| key.len() + value.len());
    check_size("metadata", sizes.sum())
}

fn check_size(field: &str, size: usize) -> Result<(), Failure> {
    if size <= MAX_TEXT_BYTES {
        return Ok(());
    }
    let text = format!("is {size} bytes; a message has at most {MAX_TEXT_BYTES}");
    Err(Failure::of_option(field, &text))
}

/// None: the details come from somebody else, for example a proxy.
fn of_details(details: &rpc::Status, status: &Status) -> Option<Failure> {
    let mut info = None;
    let mut retry_delay = None;
    let mut violations = Vec::new();
    for detail in &details.details {
        // Only the last segment names the type. The prefix may differ between senders.
        match detail.type_url.rsplit('/').next() {
            Some("google.rpc.ErrorInfo") => {
                info = rpc::ErrorInfo::decode(detail.value.as_slice()).ok();
            }
            Some("google.rpc.RetryInfo") => {
                let retry = rpc::RetryInfo::decode(detail.value.as_slice()).ok();
                retry_delay = retry.and_then(|retry| clock::span(retry.retry_delay.as_ref()));
            }
            Some("google.rpc.BadRequest") => {
                let request = rpc::BadRequest::decode(detail.value.as_slice()).unwrap_or_default();
                violations.extend(
                    request
                        .field_violations
                        .into_iter()
                        .map(|one| FieldViolation {
                            field: one.field,
                            description: own_names(&one.description),
                        }),
                );
            }
            _ => {}
        }
    }
    let info = info.filter(|info| info.domain == DOMAIN)?;
    let pushback = || {
        let text = status.metadata().get(PUSHBACK_TRAILER)?.to_str().ok()?;
        text.parse().ok().map(Duration::from_millis)
    };
    Some(Failure(Arc::new(Facts {
        reason: info.reason,
        code: status.code(),
        message: status.message().to_owned(),
        metadata: info.metadata.into_iter().collect(),
        retry_delay: retry_delay.or_else(pushback),
        violations,
        source: None,
    })))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("reason", &self.0.reason)
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .finish_non_exhaustive()
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_without_details_has_the_reason_of_its_trailer() {
        let mut status = Status::new(Code::Unavailable, "the server drains");
        status
            .metadata_mut()
            .insert(REASON_TRAILER, "DRAINING".parse().unwrap());
        status
            .metadata_mut()
            .insert(PUSHBACK_TRAILER, "120".parse().unwrap());
        let failure = Failure::of_status(&status);
        assert_eq!(failure.reason(), "DRAINING");
        assert_eq!(failure.retry_delay(), Some(Duration::from_millis(120)));
    }

    #[test]
    fn a_broken_connection_is_unavailable() {
        let broken = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let failure = Failure::of_status(&Status::from_error(Box::new(broken)));
        assert_eq!((failure.reason(), failure.code()), ("", Code::Unavailable));
    }
}
