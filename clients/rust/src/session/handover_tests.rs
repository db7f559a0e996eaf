//! Grants that arrive on an older session, against a scripted stream on the paused clock of tokio.

use std::time::Duration;

use holdfast_proto::holdfast::v1::SessionEndCause;

use super::lease_state::Verdict;
use super::world::*;

impl World {
    /// Session 2 has repeated the acquire of session 1, which still waits.
    async fn with_a_repeated_wait() -> (World, u64, Grant) {
        let mut world = World::new();
        let (id, grant) = world.acquire(lock("report"));
        world.leaving(1);
        world.advance(Duration::from_millis(100)).await;
        world.start(2);
        (world, id, grant)
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_in_the_older_session_is_believed_and_the_newer_session_speaks_for_the_lease() {
    let (mut world, _, mut grant) = World::with_a_repeated_wait().await;
    world.tell(1, 1, granted("report", TTL));
    let lease = grant.try_recv().unwrap().unwrap();
    assert_eq!(world.judge(&lease), Verdict::Valid);
    world.tell(2, 1, granted("report", TTL));
    world.tell(1, 1, ended(SessionEndCause::Superseded));
    assert_eq!(world.judge(&lease), Verdict::Valid);
    assert_eq!(world.releases(1) + world.releases(2), 0);
    assert!(world.attached(2).is_empty());
    world.tell(2, 1, ended(SessionEndCause::Revoked));
    assert_ne!(world.judge(&lease), Verdict::Valid);
}

#[tokio::test(start_paused = true)]
async fn a_grant_in_the_older_session_is_attached_if_the_repetition_has_failed() {
    let (mut world, _, mut grant) = World::with_a_repeated_wait().await;
    world.tell(2, 1, failed("OVERLOADED", Some(seconds(5))));
    world.tell(1, 1, granted("report", TTL));
    let lease = grant.try_recv().unwrap().unwrap();
    assert_eq!(world.attached(2), ["secret-report"]);
    world.tell(2, 2, granted("report", TTL));
    assert_eq!(world.judge(&lease), Verdict::Valid);
    assert_eq!(world.releases(1) + world.releases(2), 0);
}

#[tokio::test(start_paused = true)]
async fn a_grant_in_the_older_session_for_a_caller_that_has_given_up_is_released() {
    let (mut world, id, grant) = World::with_a_repeated_wait().await;
    drop(grant);
    world.engine.give_up(id, world.clock.now());
    world.poll();
    world.tell(1, 1, granted("report", TTL));
    assert_eq!(world.releases(2), 1);
    assert_eq!(world.engine.lease_count(), 0);
}
