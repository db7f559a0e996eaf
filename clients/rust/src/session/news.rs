//! What happens to the sessions of a client, for the log. A subscriber that panics ends no session.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, with_sources};
use crate::loss::LossCause;

pub(super) fn started(address: &str) {
    harmless(|| tracing::info!(%address, "holdfast: a session has started"));
}

pub(super) fn leaving(address: &str) {
    harmless(|| tracing::info!(%address, "holdfast: the server asks to leave"));
}

pub(super) fn ended(address: &str, error: &Error) {
    harmless(
        || tracing::warn!(%address, error = with_sources(error), "holdfast: a session has ended"),
    );
}

pub(super) fn not_opened(error: &Error) {
    harmless(|| {
        tracing::warn!(
            error = with_sources(error),
            "holdfast: the next session cannot be opened"
        )
    });
}

pub(super) fn attached(name: &str) {
    harmless(|| tracing::debug!(%name, "holdfast: the next session renews the lease"));
}

pub(super) fn renewal_failed(name: &str) {
    harmless(|| tracing::warn!(%name, "holdfast: a renewal has failed"));
}

pub(super) fn lost(name: &str, cause: LossCause) {
    harmless(|| tracing::warn!(%name, %cause, "holdfast: a lease is lost"));
}

/// The semaphore keeps its limit.
pub(crate) fn other_limit(name: &str, limit: i32, wanted: u32) {
    harmless(|| {
        tracing::warn!(
            %name,
            limit,
            wanted,
            "holdfast: a semaphore has another limit: the option limit does not change it, and exact_limit would \
             have refused the permits"
        )
    });
}

pub(super) fn callback_panicked() {
    harmless(|| tracing::error!("holdfast: a callback has panicked"));
}

/// Runs code of the user. There is nowhere to report a panic of the log itself.
fn harmless(run: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(run));
}
