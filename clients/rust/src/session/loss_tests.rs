//! Losses, abandoned waits and refusals, against a scripted stream on the paused clock of tokio.

use std::time::Duration;

use holdfast_proto::holdfast::v1::session_event::Event;
use holdfast_proto::holdfast::v1::{CommandQueued, SessionEndCause};

use super::lease_state::Verdict;
use super::tasks::Acquire;
use super::world::*;
use crate::error::Error;
use crate::loss::{LossCause, NoticedBy};

#[tokio::test(start_paused = true)]
async fn a_release_that_this_process_did_not_ask_for_is_a_loss() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    world.tell(1, 1, ended(SessionEndCause::Released));
    assert_eq!(world.judge(&lease), Verdict::Over(LossCause::Released));
    assert!(!lease.is_released());
    let own = world.hold("own", TTL);
    world.engine.release(&own, world.clock.now());
    assert!(own.is_released());
}

#[tokio::test(start_paused = true)]
async fn a_close_releases_after_the_end_of_the_work() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    assert_eq!(lease.begin_work(), None);
    world.engine.close(world.clock.now());
    world.poll();
    let loss = lease.lost(lease.cause().unwrap());
    assert_eq!(loss.cause(), LossCause::Closed);
    assert_eq!(loss.noticed_by(), NoticedBy::Client);
    world.advance(seconds(2)).await;
    assert_eq!(world.releases(1), 0);
    world.engine.release(&lease, world.clock.now());
    world.poll();
    assert_eq!(world.releases(1), 1);
}

#[tokio::test(start_paused = true)]
async fn a_close_leaves_the_lease_of_work_that_goes_on_to_its_ttl() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    assert_eq!(lease.begin_work(), None);
    world.engine.close(world.clock.now());
    world.advance(Duration::from_millis(4900)).await;
    assert!(!world.engine.is_closed());
    world.advance(seconds(3)).await;
    assert!(world.engine.is_closed());
    assert_eq!(world.releases(1), 0);
    assert_eq!(world.engine.next_wake(), None);
}

#[tokio::test(start_paused = true)]
async fn work_does_not_begin_after_a_loss() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    world.tell(1, 1, ended(SessionEndCause::Revoked));
    assert_eq!(lease.begin_work(), Some(LossCause::Revoked));
    assert!(!lease.has_work());
}

#[tokio::test(start_paused = true)]
async fn an_attach_that_fails_again_and_again_is_repeated_with_growing_pauses() {
    let mut world = World::new();
    let lease = world.hold("report", seconds(60));
    world.end(1);
    world.advance(seconds(2)).await;
    world.start(2);
    for _ in 0..600 {
        if let Some(&(session, id, _)) = world.commands().last()
            && session == 2
            && world.attached(2).len() == id as usize
        {
            world.tell(2, id, failed("STORE_UNAVAILABLE", None));
        }
        world.advance(Duration::from_millis(20)).await;
    }
    let count = world.attached(2).len();
    assert!((2..40).contains(&count), "{count} attaches within 12 s");
    assert_eq!(world.judge(&lease), Verdict::Valid);
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_an_answer_has_the_last_reason_of_the_server() {
    let mut world = World::new();
    let acquire = Acquire {
        wait: Some(Duration::ZERO),
        ..lock("report")
    };
    let (_, mut grant) = world.acquire(acquire);
    world.tell(1, 1, failed("QUARANTINED", None));
    world.advance(seconds(6)).await;
    let error = grant.try_recv().unwrap().unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)));
    assert_eq!(error.reason(), "QUARANTINED");
}

#[tokio::test(start_paused = true)]
async fn a_place_in_the_queue_makes_the_earlier_reason_void() {
    let mut world = World::new();
    let acquire = Acquire {
        wait: Some(seconds(3)),
        ..lock("report")
    };
    let (_, mut grant) = world.acquire(acquire);
    world.tell(1, 1, failed("QUARANTINED", None));
    world.advance(seconds(1)).await;
    world.tell(1, 2, Event::Queued(CommandQueued::default()));
    world.advance(seconds(8)).await;
    let error = grant.try_recv().unwrap().unwrap_err();
    assert_eq!(error.reason(), "NO_ANSWER");
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_wait_is_forgotten_although_no_server_answers() {
    let mut world = World::new();
    let (id, _) = world.acquire(lock("taken"));
    world.engine.give_up(id, world.clock.now());
    assert_eq!(world.engine.intents.len(), 1);
    world.advance(TTL + seconds(1)).await;
    assert!(world.engine.intents.is_empty());
}
