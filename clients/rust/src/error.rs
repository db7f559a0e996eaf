//! The errors of this crate.

use std::error::Error as StdError;

use tonic::{Code, Status};

use crate::failure::Failure;
use crate::loss::LeaseLost;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate, with one variant for each reason that a caller can act on.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The lock or the permits were not granted within the wait. Nothing is held.
    #[error(transparent)]
    Contended(Failure),
    /// The lease is over: stop the work that it protects.
    #[error(transparent)]
    LeaseLost(LeaseLost),
    /// The request is wrong. `violations` of the failure names the fields.
    #[error(transparent)]
    InvalidRequest(Failure),
    /// The server does not know the caller.
    #[error(transparent)]
    Credential(Failure),
    /// The policy of the server refuses the call to this caller.
    #[error(transparent)]
    NotAllowed(Failure),
    /// A quota, a queue or the store is full.
    #[error(transparent)]
    LimitReached(Failure),
    /// The semaphore has no limit yet: give `limit`.
    #[error(transparent)]
    NoSuchSemaphore(Failure),
    /// The semaphore has another limit, which `limit` in the metadata names.
    #[error(transparent)]
    LimitMismatch(Failure),
    /// More permits are wanted than the semaphore has.
    #[error(transparent)]
    NeverFits(Failure),
    /// There is no such dictionary.
    #[error(transparent)]
    NoSuchDictionary(Failure),
    /// The dictionary exists with another profile.
    #[error(transparent)]
    DictionaryExists(Failure),
    /// Another import was committed first. This import changed nothing.
    #[error(transparent)]
    ImportConflict(Failure),
    /// No answer within the time limit, or an answer that does not say whether the call was carried out.
    /// A new attempt at a lock or at permits is safe: the client releases what it got.
    #[error(transparent)]
    Unavailable(Failure),
    /// The client is closed.
    #[error("the client is closed")]
    Closed,
    /// Any other error. Decide by the reason or the code of the failure.
    #[error(transparent)]
    Other(Failure),
}

impl Error {
    /// The facts of the error. None for `LeaseLost` and `Closed`.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Error::LeaseLost(_) | Error::Closed => None,
            Error::Contended(failure)
            | Error::InvalidRequest(failure)
            | Error::Credential(failure)
            | Error::NotAllowed(failure)
            | Error::LimitReached(failure)
            | Error::NoSuchSemaphore(failure)
            | Error::LimitMismatch(failure)
            | Error::NeverFits(failure)
            | Error::NoSuchDictionary(failure)
            | Error::DictionaryExists(failure)
            | Error::ImportConflict(failure)
            | Error::Unavailable(failure)
            | Error::Other(failure) => Some(failure),
        }
    }

    /// An ErrorReason without its prefix, `LEASE_LOST` or `CLOSED`. Empty: `code` says more.
    pub fn reason(&self) -> &str {
        match self {
            Error::LeaseLost(_) => "LEASE_LOST",
            Error::Closed => "CLOSED",
            _ => self.failure().map_or("", Failure::reason),
        }
    }

    /// The gRPC status code.
    pub fn code(&self) -> Code {
        match self {
            Error::LeaseLost(_) => Code::Aborted,
            Error::Closed => Code::Cancelled,
            _ => self.failure().map_or(Code::Unknown, Failure::code),
        }
    }

    /// Whether others held the lock or the permits.
    pub fn is_contended(&self) -> bool {
        matches!(self, Error::Contended(_))
    }

    /// The error of a call or of the end of a stream.
    pub(crate) fn of_status(status: &Status) -> Error {
        Failure::of_status(status).into()
    }

    /// No answer came in time. `last` is the last error before. If the servers refuse the client, the
    /// error has the variant of the refusal.
    pub(crate) fn no_answer(what: impl Into<String>, last: Option<&Error>) -> Error {
        let what = what.into();
        let Some(last) = last else {
            return Failure::new("NO_ANSWER", Code::Unavailable, what).into();
        };
        let reason = match last.reason() {
            "" => "NO_ANSWER",
            reason => reason,
        };
        let code = match last.code() {
            refusal @ (Code::Unauthenticated | Code::PermissionDenied) => refusal,
            _ => Code::Unavailable,
        };
        let text = format!("{what}: {}", with_sources(last));
        Failure::new(reason, code, text).into()
    }
}

/// The text of an error with the texts of its sources, which no error of this crate shows itself.
pub(crate) fn with_sources(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// An error without a variant of its own has the variant of its code.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure.reason() {
            "CONTENDED" => Error::Contended(failure),
            "INVALID_FIELD" | "REQUEST_MISMATCH" => Error::InvalidRequest(failure),
            "NO_CREDENTIAL" | "BAD_CREDENTIAL" => Error::Credential(failure),
            "NOT_ALLOWED" => Error::NotAllowed(failure),
            "QUOTA_EXCEEDED" | "QUEUE_FULL" | "STORE_FULL" => Error::LimitReached(failure),
            "NO_SUCH_SEMAPHORE" => Error::NoSuchSemaphore(failure),
            "LIMIT_MISMATCH" => Error::LimitMismatch(failure),
            "NEVER_FITS" => Error::NeverFits(failure),
            "NO_SUCH_DICTIONARY" => Error::NoSuchDictionary(failure),
            "DICTIONARY_EXISTS" => Error::DictionaryExists(failure),
            "IMPORT_CONFLICT" => Error::ImportConflict(failure),
            _ => match failure.code() {
                Code::Unavailable | Code::DeadlineExceeded => Error::Unavailable(failure),
                Code::Unauthenticated => Error::Credential(failure),
                Code::PermissionDenied => Error::NotAllowed(failure),
                Code::ResourceExhausted => Error::LimitReached(failure),
                Code::InvalidArgument => Error::InvalidRequest(failure),
                _ => Error::Other(failure),
            },
        }
    }
}

impl From<LeaseLost> for Error {
    fn from(lost: LeaseLost) -> Error {
        Error::LeaseLost(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_known_reason_has_the_variant_of_its_code() {
        let class = |reason, code| Error::from(Failure::new(reason, code, "text"));
        for reason in ["", "MOON_IS_FULL"] {
            for code in [Code::Unavailable, Code::DeadlineExceeded] {
                assert!(matches!(class(reason, code), Error::Unavailable(_)));
            }
            let error = class(reason, Code::Unauthenticated);
            assert!(matches!(error, Error::Credential(_)));
            let error = class(reason, Code::PermissionDenied);
            assert!(matches!(error, Error::NotAllowed(_)));
            let error = class(reason, Code::ResourceExhausted);
            assert!(matches!(error, Error::LimitReached(_)));
            let error = class(reason, Code::InvalidArgument);
            assert!(matches!(error, Error::InvalidRequest(_)));
            let error = class(reason, Code::FailedPrecondition);
            assert!(matches!(error, Error::Other(_)));
        }
    }

    #[test]
    fn an_error_shows_its_own_text_and_not_its_source() {
        let failure = Failure::new("", Code::Unavailable, "no server").with_source("refused");
        let error = Error::Unavailable(failure);
        assert_eq!(error.to_string(), "no server");
        assert_eq!(error.source().unwrap().to_string(), "refused");
        assert_eq!(with_sources(&error), "no server: refused");
        let late = Error::no_answer("no answer", Some(&error));
        assert_eq!(late.to_string(), "no answer: no server: refused");
        assert!(late.source().is_none());
    }
}
