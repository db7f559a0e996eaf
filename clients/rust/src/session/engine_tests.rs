//! The engine against a scripted stream, on the paused clock of tokio.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::session_event::Event;
use holdfast_proto::holdfast::v1::{
    Lease as LeaseMessage, LeaseEnded, LeaseGranted, LeaseReleased, LeaseRenewal, LockMode,
    OpenSessionRequest, OpenSessionResponse, SessionEndCause, SessionEvent, SessionLeaving,
    SessionStarted,
};
use tokio::sync::oneshot;
use tonic::{Code, Status};

use super::engine::{Action, Engine, EngineSettings};
use super::lease_state::{LeaseState, Verdict};
use super::tasks::{Acquire, Kind};
use crate::clock::{Clock, message_span};
use crate::error::Error;
use crate::loss::LossCause;
use crate::numbers::{MAX_ACQUIRES_UNANSWERED, MAX_ATTACHES_UNANSWERED};

const TTL: Duration = Duration::from_secs(12);

type Grant = oneshot::Receiver<Result<Arc<LeaseState>, Error>>;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// An engine with a stream that takes every message at once.
struct World {
    engine: Engine,
    clock: Clock,
    sent: Vec<(u64, OpenSessionRequest)>,
    destroyed: Vec<u64>,
    half_closed: Vec<u64>,
    heartbeats: BTreeMap<u64, i64>,
}

impl World {
    /// With a first session that has started.
    fn new() -> World {
        let clock = Clock::tokio();
        let settings = EngineSettings {
            addresses: vec!["one:1".into(), "two:2".into()],
            holder_id: "tests".to_owned(),
            metadata: BTreeMap::new(),
        };
        let (ready, _) = oneshot::channel();
        let mut world = World {
            engine: Engine::new(settings, ready, clock.now()),
            clock,
            sent: Vec::new(),
            destroyed: Vec::new(),
            half_closed: Vec::new(),
            heartbeats: BTreeMap::new(),
        };
        world.poll();
        world.start(1);
        world
    }

    /// Carries out what is due.
    fn poll(&mut self) {
        loop {
            let actions = self.engine.poll(self.clock.now());
            if actions.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    Action::Prepare => {
                        self.engine.open(None, self.clock.now());
                    }
                    Action::Send {
                        session,
                        request,
                        is_counted,
                    } => {
                        if request.heartbeat_id > 0 {
                            self.heartbeats.insert(session, request.heartbeat_id);
                        }
                        self.sent.push((session, request));
                        if is_counted {
                            self.engine.written(session);
                        }
                    }
                    Action::HalfClose { session } => self.half_closed.push(session),
                    Action::Destroy { session } => self.destroyed.push(session),
                    Action::Tell(..) | Action::Forget(_) => {}
                }
            }
        }
    }

    /// Advances in small steps, as a driver with a timer does.
    async fn advance(&mut self, time: Duration) {
        let end = self.clock.now() + time;
        while self.clock.now() < end {
            let now = self.clock.now();
            let next = self.engine.next_wake().unwrap_or(end).min(end);
            tokio::time::advance(now.until(next).max(Duration::from_millis(1))).await;
            self.poll();
        }
    }

    fn start(&mut self, session: u64) {
        let started = Some(SessionStarted {
            heartbeat_timeout: Some(message_span(seconds(15))),
            ..Default::default()
        });
        self.respond(
            session,
            OpenSessionResponse {
                started,
                ..Default::default()
            },
        );
    }

    /// A response that names the latest heartbeat.
    fn respond(&mut self, session: u64, response: OpenSessionResponse) {
        let heartbeat_id = self.heartbeats[&session];
        let response = OpenSessionResponse {
            heartbeat_id,
            ..response
        };
        self.engine.response(session, response, self.clock.now());
        self.poll();
    }

    fn tell(&mut self, session: u64, command_id: i64, event: Event) {
        let events = vec![SessionEvent {
            command_id,
            event: Some(event),
        }];
        self.respond(
            session,
            OpenSessionResponse {
                events,
                ..Default::default()
            },
        );
    }

    fn acquire(&mut self, acquire: Acquire) -> (u64, Grant) {
        let acquired = self.engine.acquire(acquire, self.clock.now()).unwrap();
        self.poll();
        acquired
    }

    /// A lease of session 1.
    fn hold(&mut self, name: &str, ttl: Duration) -> Arc<LeaseState> {
        self.hold_with(lock(name), ttl)
    }

    fn hold_with(&mut self, acquire: Acquire, ttl: Duration) -> Arc<LeaseState> {
        let name = acquire.name.clone();
        let (_, mut grant) = self.acquire(acquire);
        let (_, id, _) = self.commands().pop().unwrap();
        self.tell(1, id, granted(&name, ttl));
        grant.try_recv().unwrap().unwrap()
    }

    fn end(&mut self, session: u64) {
        let status = Status::new(Code::Unavailable, "broken");
        self.engine.ended(session, Some(&status), self.clock.now());
        self.poll();
    }

    /// All commands that were sent: session, id, command.
    fn commands(&self) -> Vec<(u64, i64, Command)> {
        let sent = self.sent.iter();
        sent.flat_map(|(session, request)| request.commands.iter().map(|one| (*session, one)))
            .map(|(session, one)| (session, one.command_id, one.command.clone().unwrap()))
            .collect()
    }

    /// The ids of the leases that a session was told to attach to, or to release.
    fn attached(&self, session: u64) -> Vec<String> {
        let of = self.commands().into_iter().filter(|one| one.0 == session);
        of.filter_map(|(_, _, command)| match command {
            Command::Attach(attach) => Some(attach.lease_id),
            _ => None,
        })
        .collect()
    }

    fn releases(&self, session: u64) -> usize {
        let of = self.commands().into_iter().filter(|one| one.0 == session);
        of.filter(|(_, _, command)| matches!(command, Command::Release(_)))
            .count()
    }

    fn judge(&self, lease: &LeaseState) -> Verdict {
        lease.judge(self.clock.now())
    }
}

fn lock(name: &str) -> Acquire {
    Acquire {
        kind: Kind::Lock(LockMode::Exclusive),
        name: name.to_owned(),
        ttl: Some(TTL),
        wait: None,
        max_hold: None,
        metadata: BTreeMap::new(),
        on_queued: None,
    }
}

fn granted(name: &str, ttl: Duration) -> Event {
    Event::Granted(LeaseGranted {
        lease: Some(LeaseMessage {
            lease_id: format!("secret-{name}"),
            name: name.to_owned(),
            fencing_token: 7,
            permit_count: 1,
            ttl: Some(message_span(ttl)),
            expire_offset: Some(message_span(ttl)),
            ..Default::default()
        }),
    })
}

fn ended(cause: SessionEndCause) -> Event {
    Event::Ended(LeaseEnded {
        cause: cause.into(),
    })
}

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
    world.engine.give_up(id);
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
    let leaving = Some(SessionLeaving {
        retry_delay: Some(message_span(Duration::from_millis(50))),
    });
    world.respond(
        1,
        OpenSessionResponse {
            leaving,
            ..Default::default()
        },
    );
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
    let acquire = Acquire {
        max_hold: Some(seconds(2)),
        ..lock("report")
    };
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
async fn close_releases_ends_the_waits_and_leaves_no_session_and_no_timer() {
    let mut world = World::new();
    let lease = world.hold("report", TTL);
    let (_, mut grant) = world.acquire(lock("taken"));
    world.engine.close(world.clock.now());
    world.poll();
    assert!(matches!(grant.try_recv(), Ok(Err(Error::Closed))));
    assert_eq!(world.judge(&lease), Verdict::Over(LossCause::Released));
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
