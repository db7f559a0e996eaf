//! Bounds of pauses, waits and updates, against a scripted stream on the paused clock of tokio.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_proto::holdfast::v1::LeaseUpdated;
use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::session_event::Event;
use tonic::Code;

use super::engine::Engine;
use super::lease_state::Verdict;
use super::world::*;
use crate::error::Error;
use crate::numbers::MAX_ACQUIRES_UNANSWERED;

const MINUTE: Duration = Duration::from_secs(60);

impl World {
    fn update(&mut self, stage: &str) -> Result<(u64, UpdateAnswer), Error> {
        let lease = self.engine.leases.by_deadline().remove(0);
        let metadata = BTreeMap::from([("stage".to_owned(), stage.to_owned())]);
        let answer = self
            .engine
            .update(&lease, metadata, false, self.clock.now());
        self.poll();
        answer
    }

    fn update_three_times(&mut self) -> Vec<UpdateAnswer> {
        let stages = ["one", "two", "three"].into_iter();
        stages.map(|stage| self.update(stage).unwrap().1).collect()
    }

    fn updated(&mut self, id: i64) {
        self.tell(1, id, Event::Updated(LeaseUpdated::default()));
    }

    /// The server answers heartbeats meanwhile.
    async fn pass_the_time_of_a_call(&mut self) {
        for _ in 0..10 {
            self.advance(seconds(1)).await;
            self.respond(1, Default::default());
        }
    }

    /// The updates that were sent, with their stages.
    fn updates(&self) -> Vec<(i64, String)> {
        let commands = self.commands().into_iter();
        let updates = commands.filter_map(|(_, id, command)| match command {
            Command::Update(update) => Some((id, update.metadata_update.unwrap().entries)),
            _ => None,
        });
        updates
            .map(|(id, entries)| (id, entries["stage"].clone()))
            .collect()
    }

    fn last_update(&self) -> i64 {
        self.updates().last().unwrap().0
    }
}

impl Engine {
    /// The stage of the update under way.
    pub(crate) fn first_stage(&self) -> Option<String> {
        let lease = self.leases.by_deadline().remove(0);
        let first = self.leases.get(&lease.id)?.updates.front()?;
        first.metadata.get("stage").cloned()
    }
}

type UpdateAnswer = tokio::sync::oneshot::Receiver<Result<(), Error>>;

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_session_after_a_first_one_ends_no_lease_and_no_wait() {
    for status in [
        refused(Code::Unimplemented, ""),
        refused(Code::PermissionDenied, "NOT_ALLOWED"),
        refused(Code::PermissionDenied, ""),
        refused(Code::Unauthenticated, ""),
    ] {
        let mut world = World::new();
        let lease = world.hold("report", MINUTE);
        let (_, mut grant) = world.acquire(lock("taken"));
        for _ in 0..4 {
            let session = world.engine.current.unwrap();
            world.end_with(session, &status);
            while world.engine.current.is_none() {
                world.advance(Duration::from_millis(50)).await;
            }
        }
        world.start(5);
        assert_eq!(world.attached(5), ["secret-report"], "{status:?}");
        assert_eq!(world.judge(&lease), Verdict::Valid);
        assert!(grant.try_recv().is_err());
        world.tell(5, 2, granted("taken", MINUTE));
        assert!(grant.try_recv().unwrap().is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn the_advice_of_an_ended_session_leaves_half_of_the_time_to_the_deadline() {
    let mut world = World::new();
    let lease = world.hold("report", seconds(8));
    let mut status = refused(Code::ResourceExhausted, "QUOTA_EXCEEDED");
    let minute = "60000".parse().unwrap();
    status
        .metadata_mut()
        .insert("grpc-retry-pushback-ms", minute);
    world.end_with(1, &status);
    world.advance(Duration::from_millis(3990)).await;
    assert!(world.attached(2).is_empty());
    world.advance(Duration::from_millis(20)).await;
    assert_eq!(world.attached(2), ["secret-report"]);
    assert_eq!(world.judge(&lease), Verdict::Valid);
}

#[tokio::test(start_paused = true)]
async fn the_advice_of_a_failed_attach_leaves_half_of_the_time_to_the_deadline() {
    let mut world = World::new();
    let lease = world.hold("report", seconds(4));
    world.end(1);
    world.advance(seconds(1)).await;
    world.start(2);
    world.tell(2, 1, failed("QUARANTINED", Some(seconds(5))));
    let mut counts = Vec::new();
    for _ in 0..6 {
        world.advance(Duration::from_millis(300)).await;
        world.respond(2, Default::default());
        counts.push(world.attached(2).len());
    }
    assert_eq!(counts, [1, 1, 1, 1, 2, 2]);
    assert_eq!(world.judge(&lease), Verdict::Valid);
}

#[tokio::test(start_paused = true)]
async fn commands_that_fail_by_unavailable_with_an_unknown_or_missing_reason_are_repeated() {
    let mut world = World::new();
    let (_, mut grant) = world.acquire(lock("report"));
    for id in [1, 2] {
        world.tell(1, id, failed("MOON_IS_FULL", None));
        world.advance(Duration::from_millis(300)).await;
    }
    world.tell(1, 3, granted("report", TTL));
    let lease = grant.try_recv().unwrap().unwrap();
    let mut answer = world.engine.release(&lease, world.clock.now());
    world.poll();
    world.tell(1, 4, failed("", None));
    world.advance(Duration::from_millis(300)).await;
    assert_eq!(world.releases(1), 2);
    assert!(answer.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn waits_that_were_given_up_do_not_count_for_the_bound() {
    let mut world = World::new();
    for _ in 0..MAX_ACQUIRES_UNANSWERED {
        let now = world.clock.now();
        let (id, _) = world.engine.acquire(lock("taken"), now).unwrap();
        world.engine.give_up(id, now);
    }
    assert_eq!(world.engine.intents.len(), MAX_ACQUIRES_UNANSWERED);
    let (_, mut grant) = world.acquire(lock("report"));
    let (_, id, _) = world.commands().pop().unwrap();
    world.tell(1, 1, Event::Cancelled(Default::default()));
    world.tell(1, id, granted("report", TTL));
    assert!(grant.try_recv().unwrap().is_ok());
    assert_eq!(world.engine.abandoned_count, MAX_ACQUIRES_UNANSWERED - 1);
    world.advance(TTL + seconds(1)).await;
    assert_eq!(world.engine.abandoned_count, 0);
}

#[tokio::test(start_paused = true)]
async fn updates_are_sent_one_after_the_other_in_the_order_of_the_calls() {
    let mut world = World::new();
    let lease = world.hold("report", MINUTE);
    let mut answers = world.update_three_times();
    for (index, answer) in answers.iter_mut().enumerate() {
        assert_eq!(world.updates().len(), index + 1);
        assert!(answer.try_recv().is_err());
        world.updated(world.last_update());
        assert!(answer.try_recv().unwrap().is_ok());
    }
    let stages: Vec<_> = world
        .updates()
        .into_iter()
        .map(|(_, stage)| stage)
        .collect();
    assert_eq!(stages, ["one", "two", "three"]);
    assert_eq!(world.judge(&lease), Verdict::Valid);
}

#[tokio::test(start_paused = true)]
async fn an_update_that_was_given_up_makes_room_for_the_next_one() {
    let mut world = World::new();
    let lease = world.hold("report", MINUTE);
    let (first, _) = world.update("two").unwrap();
    let given_up = world.last_update();
    let (waiting, _) = world.update("three").unwrap();
    let (_, mut next) = world.update("four").unwrap();
    for number in [waiting, first] {
        let answer = Err(Error::Closed);
        let now = world.clock.now();
        world.engine.end_update(&lease, number, answer, now);
    }
    world.poll();
    world.updated(given_up);
    assert!(next.try_recv().is_err());
    world.updated(world.last_update());
    assert!(next.try_recv().unwrap().is_ok());
    assert_eq!(world.updates().last().unwrap().1, "four");
}

#[tokio::test(start_paused = true)]
async fn an_update_without_an_answer_says_why_its_last_attempt_failed() {
    let mut world = World::new();
    let lease = world.hold("report", MINUTE);
    let (_, mut update) = world.update("two").unwrap();
    let id = world.last_update();
    world.tell(1, id, failed("STORE_UNAVAILABLE", None));
    world.pass_the_time_of_a_call().await;
    let error = update.try_recv().unwrap().unwrap_err();
    assert_eq!(error.reason(), "STORE_UNAVAILABLE");
    world.engine.release(&lease, world.clock.now());
    world.poll();
    let (_, id, _) = world.commands().pop().unwrap();
    world.tell(1, id, failed("OVERLOADED", None));
    assert_eq!(world.engine.release_is_slow(&lease).reason(), "OVERLOADED");
}

#[tokio::test(start_paused = true)]
async fn updates_that_are_late_together_are_not_sent() {
    let mut world = World::new();
    let lease = world.hold("report", MINUTE);
    let mut answers = world.update_three_times();
    world.pass_the_time_of_a_call().await;
    for answer in &mut answers {
        let error = answer.try_recv().unwrap().unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    }
    assert_eq!(world.updates().len(), 1);
    assert_eq!(world.judge(&lease), Verdict::Valid);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_the_server_has_refused_is_not_kept() {
    let mut world = World::new();
    let mut acquire = lock("report");
    acquire.wishes.kept = BTreeMap::from([("stage".to_owned(), "one".to_owned())]);
    let lease = world.hold_with(acquire, MINUTE);
    let (_, mut refused) = world.update("bad").unwrap();
    let id = world.last_update();
    world.tell(
        1,
        id,
        failed_with(Code::InvalidArgument, "INVALID_FIELD", None),
    );
    assert!(refused.try_recv().unwrap().is_err());
    let now = world.clock.now();
    let _update = world
        .engine
        .update(&lease, BTreeMap::new(), false, now)
        .unwrap();
    world.poll();
    assert_eq!(world.updates().last().unwrap().1, "one");
}
