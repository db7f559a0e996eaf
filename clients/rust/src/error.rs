//! The errors of this crate.

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
    #[error("{0}")]
    Contended(#[source] Failure),
    /// The lease is over: stop the work that it protects.
    #[error("{0}")]
    LeaseLost(#[source] LeaseLost),
    /// The request is wrong. `violations` of the failure names the fields.
    #[error("{0}")]
    InvalidRequest(#[source] Failure),
    /// The server does not know the caller.
    #[error("{0}")]
    Credential(#[source] Failure),
    /// The policy of the server refuses the call to this caller.
    #[error("{0}")]
    NotAllowed(#[source] Failure),
    /// A quota, a queue or the store is full.
    #[error("{0}")]
    LimitReached(#[source] Failure),
    /// The semaphore has no limit yet: give `limit`.
    #[error("{0}")]
    NoSuchSemaphore(#[source] Failure),
    /// The semaphore has another limit, which `limit` in the metadata names.
    #[error("{0}")]
    LimitMismatch(#[source] Failure),
    /// More permits are wanted than the semaphore has.
    #[error("{0}")]
    NeverFits(#[source] Failure),
    /// There is no such dictionary.
    #[error("{0}")]
    NoSuchDictionary(#[source] Failure),
    /// The dictionary exists with another profile.
    #[error("{0}")]
    DictionaryExists(#[source] Failure),
    /// Another import was committed first. This import changed nothing.
    #[error("{0}")]
    ImportConflict(#[source] Failure),
    /// No answer within the time limit, or an answer that does not say whether the call was carried out.
    /// A new attempt at a lock or at permits is safe: the client releases what it got.
    #[error("{0}")]
    Unavailable(#[source] Failure),
    /// The client is closed.
    #[error("the client is closed")]
    Closed,
    /// Any other error. Decide by the reason or the code of the failure.
    #[error("{0}")]
    Other(#[source] Failure),
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

    /// No answer came in time. `last` is the last error before.
    pub(crate) fn no_answer(what: impl Into<String>, last: Option<&Error>) -> Error {
        let what = what.into();
        let Some(last) = last else {
            return Error::Unavailable(Failure::new("NO_ANSWER", Code::Unavailable, what));
        };
        let reason = match last.reason() {
            "" => "NO_ANSWER",
            reason => reason,
        };
        let failure = Failure::new(reason, Code::Unavailable, format!("{what}: {last}"));
        Error::Unavailable(failure.with_source(last.clone()))
    }
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
