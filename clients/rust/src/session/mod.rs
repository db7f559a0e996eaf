//! All leases of a process, over one session after the other.

mod acquiring;
#[cfg(test)]
mod bound_tests;
mod client;
#[cfg(test)]
mod client_tests;
mod closing;
mod driver;
mod engine;
#[cfg(test)]
mod engine_tests;
#[cfg(test)]
mod handover_tests;
mod heartbeats;
mod held;
mod holding;
mod lease_state;
#[cfg(test)]
mod loss_tests;
mod news;
#[cfg(test)]
mod news_tests;
mod opening;
#[cfg(test)]
mod refusal_tests;
mod releasing;
mod repeating;
mod stream;
mod tasks;
mod timers;
mod updating;
mod wire;
#[cfg(test)]
mod world;

pub(crate) use client::SessionClient;
pub(crate) use engine::EngineSettings;
pub(crate) use lease_state::{LeaseState, Verdict};
pub(crate) use news::other_limit;
pub(crate) use tasks::{Acquire, Kind};
pub use tasks::{Holder, QueuePlace, Released};
