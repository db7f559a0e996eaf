#![doc = include_str!("../README.md")]

mod acquire;
mod autocomplete;
mod calls;
mod client;
mod clock;
mod connection;
mod election;
mod error;
mod failure;
mod lease;
mod limits;
mod loss;
mod numbers;
mod options;
mod pauses;
mod run;
mod server_texts;
mod session;

pub use acquire::{Lock, Semaphore};
pub use autocomplete::{
    Dictionary, DictionaryInfo, DictionaryProfile, Entry, ListedEntry, MatchKind, Recent, Recents,
    Segment, SuggestOptions, Suggestion, TypeAhead,
};
pub use client::{Holdfast, ServerInfo};
#[cfg(feature = "tls")]
pub use connection::TlsOptions;
pub use connection::{Addresses, BearerToken};
pub use election::{Election, Leader};
pub use error::{Error, Result};
pub use failure::{Failure, FieldViolation};
pub use lease::Lease;
pub use loss::{LeaseLost, LossCause, NoticedBy};
pub use options::ConnectOptions;
pub use session::{Holder, QueuePlace, Released};
/// The status codes of gRPC.
pub use tonic::Code;

/// Connects to one of several servers of the same store, with the default options.
///
/// # Errors
///
/// [`Error::Unavailable`] if no server answers within 10 s. See [`ConnectOptions::connect`].
pub async fn connect(addresses: impl Into<Addresses>) -> Result<Holdfast> {
    ConnectOptions::new().connect(addresses).await
}
