//! The engine against a scripted stream, on the paused clock of tokio.

use super::world::*;
use std::time::Duration;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::session_event::Event;
use holdfast_proto::holdfast::v1::{
    LeaseReleased, LeaseRenewal, OpenSessionResponse, SessionEndCause,
};

use super::lease_state::Verdict;
use crate::clock::message_span;
use crate::error::Error;
use crate::loss::LossCause;
use crate::numbers::{MAX_ACQUIRES_UNANSWERED, MAX_ATTACHES_UNANSWERED};

#[tokio::test(start_paused = true)]
async fn a_deadline_counts_from_the_heartbeat_that_the_response_names() {
    let mut world = World::new();
    let (_, mut grant) = world.acquire(lock("report"));
    // Heartbeat 1 was sent three seconds before the answer.
    tokio::time::advance(seconds(3)).await;
    world.tell(1, 1, granted("report", TTL));
    let lease = grant.try_recv().unwrap().unwrap();
    assert_eq!(lease.remaining(world.clock.now()), seconds(9));
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_left_after_a_quarter_of_the_shortest_ttl_and_the_lease_is_attached() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    world.advance(seconds(2)).await;
    assert_eq!(world.heartbeats[&1], 2);
    world.advance(Duration::from_millis(2900)).await;
    assert!(world.destroyed.is_empty());
    world.advance(seconds(2)).await;
    assert_eq!(world.destroyed, [1]);
    assert_eq!(world.attached(2), ["secret-report"]);
    assert_eq!(world.judge(&lease), Verdict::Valid);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_after_the_deadline_does_not_bring_the_lease_back() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    // The process was stopped, so no timer has fired.
    tokio::time::advance(seconds(20)).await;
    let renewals = vec![LeaseRenewal {
        lease_number: 1,
        expire_offset: Some(message_span(seconds(40))),
        ttl: None,
    }];
    world.respond(
        1,
        OpenSessionResponse {
            renewals,
            ..Default::default()
        },
    );
    assert_eq!(world.judge(&lease), Verdict::Over(LossCause::Deadline));
    assert_eq!(world.releases(1) + world.releases(2), 1);
}

#[tokio::test(start_paused = true)]
async fn leases_are_attached_by_their_deadlines_with_a_bound_on_those_unanswered() {
    let mut world = World::new();
    let count = MAX_ATTACHES_UNANSWERED + 5;
    for number in 0..count {
        world.hold(&number.to_string(), seconds(3000 - number as u64));
    }
    world.end(1);
    world.advance(seconds(2)).await;
    let attached = world.attached(2);
    assert_eq!(attached.len(), MAX_ATTACHES_UNANSWERED);
    assert_eq!(attached[0], format!("secret-{}", count - 1));
    world.start(2);
    world.tell(2, 1, granted(&(count - 1).to_string(), seconds(3000)));
    assert_eq!(world.attached(2).len(), MAX_ATTACHES_UNANSWERED + 1);
}

#[tokio::test(start_paused = true)]
async fn a_grant_for_a_caller_that_has_given_up_is_released() {
    let mut world = World::new();
    let (id, grant) = world.acquire(lock("report"));
    drop(grant);
    world.engine.give_up(id, world.clock.now());
    world.poll();
    assert!(matches!(
        world.commands().last(),
        Some((1, 2, Command::Cancel(_)))
    ));
    world.tell(1, 1, granted("report", TTL));
    assert_eq!(world.releases(1), 1);
    assert_eq!(world.engine.lease_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_never_attached_and_its_release_is_repeated_until_the_answer() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    let mut answer = world.engine.release(&lease, world.clock.now());
    world.poll();
    world.end(1);
    world.advance(seconds(2)).await;
    assert_eq!((world.releases(2), world.attached(2).len()), (1, 0));
    world.start(2);
    world.tell(
        2,
        1,
        Event::Released(LeaseReleased {
            released: true,
            loss_cause: 0,
        }),
    );
    assert!(answer.try_recv().unwrap().unwrap().released);
    world.end(2);
    world.advance(seconds(2)).await;
    assert_eq!(world.releases(3), 0);
}

#[tokio::test(start_paused = true)]
async fn superseded_is_no_loss_if_this_client_has_moved_the_lease() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    world.leaving(1);
    world.advance(Duration::from_millis(100)).await;
    assert_eq!(world.attached(2), ["secret-report"]);
    world.start(2);
    world.tell(2, 1, granted("report", TTL));
    world.tell(1, 1, ended(SessionEndCause::Superseded));
    assert_eq!(world.judge(&lease), Verdict::Valid);
    assert_eq!(world.half_closed, [1]);
    world.tell(2, 1, ended(SessionEndCause::Superseded));
    assert_eq!(world.judge(&lease), Verdict::Over(LossCause::Superseded));
}

#[tokio::test(start_paused = true)]
async fn work_beyond_max_hold_is_released_at_the_deadline_that_was_known() {
    let mut world = World::new();
    let mut acquire = lock("report");
    acquire.wishes.max_hold = Some(seconds(2));
    let lease = world.hold_with(acquire, seconds(60));
    world.advance(seconds(2)).await;
    assert_eq!(world.judge(&lease), Verdict::Over(LossCause::MaxHold));
    assert_eq!(world.releases(1), 0);
    for _ in 0..60 {
        world.advance(seconds(1)).await;
        world.respond(1, OpenSessionResponse::default());
    }
    assert_eq!(world.releases(1), 1);
}

#[tokio::test(start_paused = true)]
async fn close_does_not_wait_for_work_beyond_max_hold() {
    let mut world = World::new();
    let mut acquire = lock("report");
    acquire.wishes.max_hold = Some(seconds(2));
    let lease = world.hold_with(acquire, seconds(60));
    assert_eq!(lease.begin_work(), None);
    world.advance(seconds(2)).await;
    assert_eq!(world.judge(&lease), Verdict::Over(LossCause::MaxHold));
    world.engine.close(world.clock.now());
    // The half-closed stream has a second.
    world.advance(seconds(2)).await;
    assert!(world.engine.is_closed());
    assert_eq!(world.releases(1), 0);
    assert_eq!(world.engine.next_wake(), None);
}

#[tokio::test(start_paused = true)]
async fn close_releases_ends_the_waits_and_leaves_no_session_and_no_timer() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    let (_, mut grant) = world.acquire(lock("taken"));
    world.engine.close(world.clock.now());
    world.poll();
    assert!(matches!(grant.try_recv(), Ok(Err(Error::Closed))));
    assert_eq!(world.judge(&lease), Verdict::Over(LossCause::Closed));
    assert!(!lease.is_released());
    assert_eq!(world.releases(1), 1);
    // No server answers.
    world.advance(seconds(7)).await;
    assert!(world.engine.is_closed());
    assert_eq!(world.engine.next_wake(), None);
    assert!(
        world
            .engine
            .acquire(lock("late"), world.clock.now())
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn acquires_beyond_the_bound_are_refused() {
    let mut world = World::new();
    let grants: Vec<_> = (0..MAX_ACQUIRES_UNANSWERED)
        .map(|_| world.engine.acquire(lock("taken"), world.clock.now()))
        .collect();
    let refused = world.engine.acquire(lock("taken"), world.clock.now());
    assert!(matches!(refused, Err(Error::LimitReached(_))));
    assert!(grants.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn no_text_of_a_lease_shows_its_id() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    assert!(!format!("{lease:?}").contains("secret"));
    assert!(!format!("{:?}", lease.lost(LossCause::Revoked)).contains("secret"));
}
