//! Why a lease is over.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use holdfast_proto::holdfast::v1::{LossCause as StoredCause, SessionEndCause};

/// Why a lease is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossCause {
    /// The deadline on the own clock has passed.
    Deadline,
    /// The lease was held for longer than `max_hold` allows.
    MaxHold,
    /// The client was closed while the lease was held.
    Closed,
    /// The server has answered that the lease is not held.
    LeaseNotHeld,
    /// The lease was not renewed in time.
    Expired,
    /// An operator or a new policy revoked the lease.
    Revoked,
    /// The store lost the lease.
    StoreReset,
    /// No renewal reached the store in time.
    StoreUnavailable,
    /// The lease was released. A loss only if this process has not released the lease itself.
    Released,
    /// Another session attached to the lease.
    Superseded,
    /// The process was forked, and this is the child.
    Forked,
    /// A cause that only a newer server knows.
    Unrecognized,
}

impl LossCause {
    /// The name in the contract, for example `STORE_RESET`.
    pub fn as_str(self) -> &'static str {
        match self {
            LossCause::Deadline => "DEADLINE",
            LossCause::MaxHold => "MAX_HOLD",
            LossCause::Closed => "CLOSED",
            LossCause::LeaseNotHeld => "LEASE_NOT_HELD",
            LossCause::Expired => "EXPIRED",
            LossCause::Revoked => "REVOKED",
            LossCause::StoreReset => "STORE_RESET",
            LossCause::StoreUnavailable => "STORE_UNAVAILABLE",
            LossCause::Released => "RELEASED",
            LossCause::Superseded => "SUPERSEDED",
            LossCause::Forked => "FORKED",
            LossCause::Unrecognized => "UNRECOGNIZED",
        }
    }

    fn text(self) -> &'static str {
        match self {
            LossCause::Deadline => "its deadline passed without a renewal",
            LossCause::MaxHold => "it was held for longer than max_hold",
            LossCause::Closed => "the client was closed",
            LossCause::LeaseNotHeld => "the server no longer knows it",
            LossCause::Expired => "it was not renewed in time",
            LossCause::Revoked => "an operator or a new policy revoked it",
            LossCause::StoreReset => "the store lost it",
            LossCause::StoreUnavailable => "the store was not reached in time",
            LossCause::Released => "it was released",
            LossCause::Superseded => "another session attached to it",
            LossCause::Forked => "a forked child holds no lease",
            LossCause::Unrecognized => "a newer server ended it for an unknown reason",
        }
    }

    pub(crate) fn of_session_end(code: i32) -> LossCause {
        match SessionEndCause::try_from(code) {
            Ok(SessionEndCause::Expired) => LossCause::Expired,
            Ok(SessionEndCause::Revoked) => LossCause::Revoked,
            Ok(SessionEndCause::StoreReset) => LossCause::StoreReset,
            Ok(SessionEndCause::StoreUnavailable) => LossCause::StoreUnavailable,
            Ok(SessionEndCause::Released) => LossCause::Released,
            Ok(SessionEndCause::Superseded) => LossCause::Superseded,
            Ok(SessionEndCause::Unspecified) | Err(_) => LossCause::Unrecognized,
        }
    }

    /// The cause in the answer to a release. None: not known.
    pub(crate) fn of_stored(code: i32) -> Option<LossCause> {
        match StoredCause::try_from(code) {
            Ok(StoredCause::Unspecified) => None,
            Ok(StoredCause::Expired) => Some(LossCause::Expired),
            Ok(StoredCause::Revoked) => Some(LossCause::Revoked),
            Ok(StoredCause::StoreReset) => Some(LossCause::StoreReset),
            Ok(StoredCause::StoreUnavailable) => Some(LossCause::StoreUnavailable),
            Err(_) => Some(LossCause::Unrecognized),
        }
    }
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who noticed that a lease is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoticedBy {
    /// The own clock.
    Client,
    /// A message of the server.
    Server,
}

/// The lease is over: stop the work that it protects.
#[derive(Clone, Debug)]
pub struct LeaseLost {
    name: Arc<str>,
    cause: LossCause,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl LeaseLost {
    pub(crate) fn new(name: Arc<str>, cause: LossCause) -> LeaseLost {
        LeaseLost {
            name,
            cause,
            source: None,
        }
    }

    /// The error of the work that ran under the lease becomes the source.
    pub(crate) fn with_source(self, source: Box<dyn StdError + Send + Sync>) -> LeaseLost {
        LeaseLost {
            source: Some(source.into()),
            ..self
        }
    }

    /// The name of the lock or semaphore.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Why the lease is over.
    pub fn cause(&self) -> LossCause {
        self.cause
    }

    /// Who noticed the loss.
    pub fn noticed_by(&self) -> NoticedBy {
        match self.cause {
            LossCause::Deadline | LossCause::MaxHold | LossCause::Closed | LossCause::Forked => {
                NoticedBy::Client
            }
            _ => NoticedBy::Server,
        }
    }
}

impl fmt::Display for LeaseLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the lease of {:?} is over: {}",
            self.name,
            self.cause.text()
        )
    }
}

impl StdError for LeaseLost {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
