//! Refusals of sessions and of requests, against a scripted stream on the paused clock of tokio.

use std::time::Duration;

use tonic::Code;

use super::lease_state::Verdict;
use super::world::*;
use crate::error::Error;
use crate::numbers::MAX_MESSAGE_BYTES;

impl World {
    /// Waits for the next session or the failure of the client. Returns the number of sessions.
    async fn next_session(&mut self) -> u64 {
        while self.engine.current.is_none() && self.engine.failure.is_none() {
            self.advance(Duration::from_millis(5)).await;
        }
        self.engine.session_count
    }
}

#[tokio::test(start_paused = true)]
async fn a_max_hold_of_zero_is_refused_before_anything_is_sent() {
    let mut world = World::new();
    let mut acquire = lock("report");
    acquire.wishes.max_hold = Some(Duration::ZERO);
    let error = world.engine.acquire(acquire, world.clock.now());
    let error = error.err().unwrap();
    world.poll();
    assert!(matches!(error, Error::InvalidRequest(_)), "{error:?}");
    assert_eq!(error.reason(), "INVALID_FIELD");
    assert_eq!(error.failure().unwrap().violations()[0].field, "max_hold");
    assert!(world.commands().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_text_larger_than_a_message_reaches_no_session() {
    let mut world = World::new();
    let lease = world.hold("report", seconds(60));
    let sent = world.commands().len();
    let huge = "x".repeat(MAX_MESSAGE_BYTES);
    let named = lock(&huge);
    let mut described = lock("other");
    described.wishes.metadata = [("job".to_owned(), huge.clone())].into();
    for acquire in [named, described] {
        let error = world.engine.acquire(acquire, world.clock.now());
        let error = error.err().unwrap();
        assert!(matches!(error, Error::InvalidRequest(_)), "{error:?}");
    }
    let metadata = [("job".to_owned(), huge)].into();
    let error = world
        .engine
        .update(&lease, metadata, false, world.clock.now());
    let error = error.err().unwrap();
    assert!(matches!(error, Error::InvalidRequest(_)), "{error:?}");
    world.poll();
    assert_eq!(world.commands().len(), sent);
}

#[tokio::test(start_paused = true)]
async fn the_policy_ends_connect_at_once_with_or_without_a_reason() {
    for reason in ["NOT_ALLOWED", ""] {
        let mut world = World::before_first_session();
        world.end_with(1, &refused(Code::PermissionDenied, reason));
        let failure = world.engine.failure.as_ref();
        assert!(matches!(failure, Some(Error::NotAllowed(_))), "{failure:?}");
        world.advance(seconds(10)).await;
        assert_eq!(world.engine.session_count, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_refusal_of_the_credential_ends_connect() {
    for reason in ["BAD_CREDENTIAL", ""] {
        let mut world = World::before_first_session();
        world.end_with(1, &refused(Code::Unauthenticated, reason));
        assert!(world.engine.failure.is_none());
        assert_eq!(world.next_session().await, 2);
        world.end_with(2, &refused(Code::Unauthenticated, reason));
        let failure = world.engine.failure.as_ref();
        assert!(matches!(failure, Some(Error::Credential(_))), "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_that_stay_refused_after_a_first_session_have_the_ordinary_growing_pauses() {
    let mut world = World::new();
    let lease = world.hold("report", seconds(60));
    let start = world.clock.now();
    for session in 1..=6 {
        world.end_with(session, &refused(Code::Unauthenticated, "BAD_CREDENTIAL"));
        assert_eq!(world.next_session().await, session + 1);
    }
    // At most 1 s after the break, and then 0.1 s, 0.2 s, 0.4 s, 0.8 s and 1.6 s.
    assert!(world.clock.now() - start < Duration::from_millis(4200));
    world.start(7);
    assert_eq!(world.attached(7), ["secret-report"]);
    assert_eq!(world.judge(&lease), Verdict::Valid);
}
