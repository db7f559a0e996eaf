//! An engine with a scripted stream, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::session_event::Event;
use holdfast_proto::holdfast::v1::{
    CommandFailed, Lease as LeaseMessage, LeaseEnded, LeaseGranted, LockMode, OpenSessionRequest,
    OpenSessionResponse, SessionEndCause, SessionEvent, SessionLeaving, SessionStarted,
};
use tokio::sync::oneshot;
use tonic::{Code, Status};

use super::engine::{Action, Engine, EngineSettings, Opening};
use super::lease_state::{LeaseState, Verdict};
use super::tasks::{Acquire, Kind};
use crate::clock::{Clock, message_span};
use crate::error::Error;

pub(super) const TTL: Duration = Duration::from_secs(12);

pub(super) type Grant = oneshot::Receiver<Result<Arc<LeaseState>, Error>>;

pub(super) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// An engine with a stream that takes every message at once.
pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) clock: Clock,
    pub(super) sent: Vec<(u64, OpenSessionRequest)>,
    pub(super) destroyed: Vec<u64>,
    pub(super) half_closed: Vec<u64>,
    pub(super) heartbeats: BTreeMap<u64, i64>,
}

impl World {
    /// With a first session that has started.
    pub(super) fn new() -> World {
        let mut world = World::before_first_session();
        world.start(1);
        world
    }

    /// The first session waits for the answer of a server.
    pub(super) fn before_first_session() -> World {
        let clock = Clock::tokio();
        let settings = EngineSettings {
            connect: Duration::MAX,
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
        world
    }

    /// Carries out what is due.
    pub(super) fn poll(&mut self) {
        loop {
            let actions = self.engine.poll(self.clock.now());
            if actions.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    Action::Prepare => {
                        let server = ["one:1", "two:2"][self.engine.session_count as usize % 2];
                        self.engine.open(opening(server), self.clock.now());
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
    pub(super) async fn advance(&mut self, time: Duration) {
        let end = self.clock.now() + time;
        while self.clock.now() < end {
            let now = self.clock.now();
            let next = self.engine.next_wake().unwrap_or(end).min(end);
            tokio::time::advance(now.until(next).max(Duration::from_millis(1))).await;
            self.poll();
        }
    }

    pub(super) fn start(&mut self, session: u64) {
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
    pub(super) fn respond(&mut self, session: u64, response: OpenSessionResponse) {
        let heartbeat_id = self.heartbeats[&session];
        let response = OpenSessionResponse {
            heartbeat_id,
            ..response
        };
        self.engine.response(session, response, self.clock.now());
        self.poll();
    }

    pub(super) fn tell(&mut self, session: u64, command_id: i64, event: Event) {
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

    pub(super) fn acquire(&mut self, acquire: Acquire) -> (u64, Grant) {
        let acquired = self.engine.acquire(acquire, self.clock.now()).unwrap();
        self.poll();
        acquired
    }

    /// A lease of session 1.
    pub(super) fn hold(&mut self, name: &str, ttl: Duration) -> Arc<LeaseState> {
        self.hold_with(lock(name), ttl)
    }

    pub(super) fn hold_with(&mut self, acquire: Acquire, ttl: Duration) -> Arc<LeaseState> {
        let name = acquire.name.clone();
        let (_, mut grant) = self.acquire(acquire);
        let (_, id, _) = self.commands().pop().unwrap();
        self.tell(1, id, granted(&name, ttl));
        grant.try_recv().unwrap().unwrap()
    }

    pub(super) fn end(&mut self, session: u64) {
        self.end_with(session, &refused(Code::Unavailable, ""));
    }

    pub(super) fn end_with(&mut self, session: u64, status: &Status) {
        self.engine.ended(session, Some(status), self.clock.now());
        self.poll();
    }

    /// The server asks to leave the session, with a delay of 50 ms.
    pub(super) fn leaving(&mut self, session: u64) {
        let leaving = Some(SessionLeaving {
            retry_delay: Some(message_span(Duration::from_millis(50))),
        });
        let response = OpenSessionResponse {
            leaving,
            ..Default::default()
        };
        self.respond(session, response);
    }

    /// All commands that were sent: session, id, command.
    pub(super) fn commands(&self) -> Vec<(u64, i64, Command)> {
        let sent = self.sent.iter();
        sent.flat_map(|(session, request)| request.commands.iter().map(|one| (*session, one)))
            .map(|(session, one)| (session, one.command_id, one.command.clone().unwrap()))
            .collect()
    }

    /// The ids of the leases that a session was told to attach to, or to release.
    pub(super) fn attached(&self, session: u64) -> Vec<String> {
        let of = self.commands().into_iter().filter(|one| one.0 == session);
        of.filter_map(|(_, _, command)| match command {
            Command::Attach(attach) => Some(attach.lease_id),
            _ => None,
        })
        .collect()
    }

    pub(super) fn releases(&self, session: u64) -> usize {
        let of = self.commands().into_iter().filter(|one| one.0 == session);
        of.filter(|(_, _, command)| matches!(command, Command::Release(_)))
            .count()
    }

    pub(super) fn judge(&self, lease: &LeaseState) -> Verdict {
        lease.judge(self.clock.now())
    }
}

/// An opening of a session with one of two servers.
pub(super) fn opening(server: &str) -> Opening {
    Opening {
        life: None,
        server: server.into(),
        left: 1,
        count: 2,
    }
}

pub(super) fn lock(name: &str) -> Acquire {
    Acquire {
        kind: Kind::Lock(LockMode::Exclusive),
        name: name.to_owned(),
        ttl: Some(TTL),
        wait: None,
        wishes: Default::default(),
        on_queued: None,
    }
}

pub(super) fn granted(name: &str, ttl: Duration) -> Event {
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

/// The status of a server. An empty reason: of a proxy or the gRPC library.
pub(super) fn refused(code: Code, reason: &str) -> Status {
    let mut status = Status::new(code, "refused");
    if !reason.is_empty() {
        let reason = reason.parse().unwrap();
        status.metadata_mut().insert("holdfast-reason", reason);
    }
    status
}

pub(super) fn failed(reason: &str, retry_delay: Option<Duration>) -> Event {
    failed_with(Code::Unavailable, reason, retry_delay)
}

pub(super) fn failed_with(code: Code, reason: &str, retry_delay: Option<Duration>) -> Event {
    Event::Failed(CommandFailed {
        code: code.into(),
        reason_text: reason.to_owned(),
        message: reason.to_owned(),
        retry_delay: retry_delay.map(message_span),
        ..Default::default()
    })
}

pub(super) fn ended(cause: SessionEndCause) -> Event {
    Event::Ended(LeaseEnded {
        cause: cause.into(),
    })
}
