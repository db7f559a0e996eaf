//! Whether a failed call outside of the session is repeated, and when.

use std::time::Duration;

use tonic::Code;

use crate::error::Error;
use crate::failure::Failure;
use crate::numbers::{
    ATTEMPT_SHARE, CALL_IS_REPEATED, CREDENTIAL_IS_FETCHED_ONCE_MORE, FIRST_ANSWER,
    IDEMPOTENT_CALL_IS_REPEATED, SILENCE,
};
use crate::pauses;

/// The first message of a watch comes within this time. Then the next server is tried.
pub(super) const FIRST_MESSAGE: Duration = FIRST_ANSWER;

/// The time of one attempt. A call that may be repeated leaves a part of its time to the next attempts,
/// because the server may be silent.
pub(crate) fn attempt_time(left: Duration, is_idempotent: bool) -> Duration {
    match is_idempotent {
        true => left.min(left.mul_f64(ATTEMPT_SHARE).max(SILENCE)),
        false => left,
    }
}

/// Whether the next attempt needs another connection. A status without a reason comes from the gRPC
/// library or a proxy.
pub(super) fn is_broken(error: &Error) -> bool {
    error.code() == Code::Unavailable || is_late(error)
}

/// Whether the time of an attempt has passed without an answer.
pub(super) fn is_late(error: &Error) -> bool {
    error.reason().is_empty() && error.code() == Code::DeadlineExceeded
}

/// No answer came within the time of an attempt.
pub(crate) fn late(what: &str) -> Error {
    Failure::new("", Code::DeadlineExceeded, what).into()
}

/// The rules that all calls and streams share.
#[derive(Debug)]
pub(crate) struct Repetition {
    is_idempotent: bool,
    failures: u32,
    refusals: u32,
}

impl Repetition {
    /// `is_idempotent`: a second run does no harm.
    pub(crate) fn new(is_idempotent: bool) -> Repetition {
        Repetition {
            is_idempotent,
            failures: 0,
            refusals: 0,
        }
    }

    /// The server has answered, so the next failure is a first one.
    pub(crate) fn answered(&mut self) {
        (self.failures, self.refusals) = (0, 0);
    }

    /// The pause before the next attempt. None: a repetition cannot help. A credential is fetched anew
    /// once. `is_sent` is false if the attempt has failed before it reached the network.
    pub(crate) fn pause_after(&mut self, error: &Error, is_sent: bool) -> Option<Duration> {
        if is_sent && CREDENTIAL_IS_FETCHED_ONCE_MORE.contains(&error.reason()) {
            self.refusals += 1;
            return (self.refusals == 1).then_some(Duration::ZERO);
        }
        if is_sent && !self.is_repeated(error) {
            return None;
        }
        self.failures += 1;
        let advised = error.failure().and_then(Failure::retry_delay);
        Some(pauses::before_repeat(self.failures, advised))
    }

    fn is_repeated(&self, error: &Error) -> bool {
        let reason = error.reason();
        if CALL_IS_REPEATED.contains(&reason) {
            return true;
        }
        if !self.is_idempotent {
            return false;
        }
        // For an unknown reason the code decides.
        if !reason.is_empty() {
            return IDEMPOTENT_CALL_IS_REPEATED.contains(&reason)
                || error.code() == Code::Unavailable;
        }
        // A reset stream is INTERNAL, and so is a message that can never be encoded: repeated once.
        is_broken(error) || (error.code() == Code::Internal && self.failures == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(reason: &str, code: Code) -> Error {
        Failure::new(reason, code, "text").into()
    }

    #[test]
    fn a_call_that_may_have_run_is_repeated_only_if_a_second_run_does_no_harm() {
        let broken = failed("", Code::Unavailable);
        assert!(Repetition::new(true).pause_after(&broken, true).is_some());
        assert!(Repetition::new(false).pause_after(&broken, true).is_none());
        let unknown = failed("MOON_IS_FULL", Code::Unavailable);
        assert!(Repetition::new(true).pause_after(&unknown, true).is_some());
        assert!(Repetition::new(false).pause_after(&unknown, true).is_none());
        let draining = failed("DRAINING", Code::Unavailable);
        assert!(
            Repetition::new(false)
                .pause_after(&draining, true)
                .is_some()
        );
        let refused = failed("NOT_ALLOWED", Code::PermissionDenied);
        assert!(Repetition::new(true).pause_after(&refused, true).is_none());
    }

    #[test]
    fn a_credential_is_fetched_once_anew() {
        let mut repetition = Repetition::new(false);
        let refused = failed("BAD_CREDENTIAL", Code::Unauthenticated);
        assert_eq!(repetition.pause_after(&refused, true), Some(Duration::ZERO));
        assert_eq!(repetition.pause_after(&refused, true), None);
    }

    #[test]
    fn a_first_attempt_leaves_time_for_the_next_server() {
        let left = Duration::from_secs(10);
        assert_eq!(attempt_time(left, true), Duration::from_secs(6));
        assert_eq!(attempt_time(left, false), left);
        let short = Duration::from_millis(700);
        assert_eq!(attempt_time(short, true), short);
    }
}
