//! The state of all sessions of a client, without input and output. The driver passes time, messages
//! and ends of streams in, and carries out the actions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use holdfast_proto::holdfast::v1::OpenSessionRequest;
use tokio::sync::oneshot;

use super::held::HeldLeases;
use super::lease_state::LeaseState;
use super::stream::{Session, Wake};
use super::tasks::{Intent, OnQueued, QueuePlace, ReleaseTask};
use super::timers::{TimerKey, Timers};
use crate::clock::Time;
use crate::error::Error;

/// What all sessions of a client have in common.
#[derive(Debug)]
pub(crate) struct EngineSettings {
    /// The longest wait for the first session.
    pub(crate) connect: Duration,
    /// The same in all sessions.
    pub(crate) holder_id: String,
    /// The metadata of each acquire without metadata of its own.
    pub(crate) metadata: BTreeMap<String, String>,
}

/// What the next session needs to know of its connection.
#[derive(Debug)]
pub(crate) struct Opening {
    /// The life of its credential.
    pub(crate) life: Option<Duration>,
    pub(crate) server: Arc<str>,
    /// The addresses that share the time of connect.
    pub(crate) left: u32,
    /// The known addresses.
    pub(crate) count: u32,
}

/// What the driver does for the engine.
pub(crate) enum Action {
    /// Fetch the credential and the certificates for a session, and then call `open` or `not_opened`.
    Prepare,
    Send {
        session: u64,
        request: OpenSessionRequest,
        is_counted: bool,
    },
    HalfClose {
        session: u64,
    },
    /// End stream and connection.
    Destroy {
        session: u64,
    },
    Tell(OnQueued, QueuePlace),
    /// Drop the callback outside of the engine's lock.
    Forget(OnQueued),
}

#[derive(Debug)]
pub(super) enum Timer {
    OpenNext,
    TokenEnds {
        session: u64,
    },
    IntentLimit(u64),
    ReleaseLimit(String),
    UpdateLimit(Arc<LeaseState>, u64),
    LeaseOver(Arc<LeaseState>),
    /// A lease that was held for too long has reached its deadline.
    HeldTooLong(Arc<LeaseState>),
    Repeat {
        what: Repeat,
        session: u64,
    },
    CloseLimit,
}

#[derive(Clone, Debug)]
pub(super) enum Repeat {
    Acquire(u64),
    Attach(Arc<LeaseState>),
    Release(String),
    Update(Arc<LeaseState>, u64),
}

#[derive(Debug)]
pub(super) struct HeldTooLong {
    pub(super) lease: Arc<LeaseState>,
    pub(super) ttl: Duration,
    pub(super) timer: TimerKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// Releases and cancels wait for their answers.
    Finishing,
    /// The last session ends in order.
    HalfClosing,
    Closed,
}

pub(crate) struct Engine {
    pub(super) settings: EngineSettings,
    pub(super) client_id: String,
    pub(super) phase: Phase,
    pub(super) sessions: BTreeMap<u64, Session>,
    /// The session that gets new commands.
    pub(super) current: Option<u64>,
    pub(super) session_count: u64,
    pub(super) failures: u32,
    /// The known addresses of servers.
    pub(super) address_count: u32,
    /// The end of the time in which the first session starts.
    pub(super) connect_until: Time,
    pub(super) refusals: u32,
    /// A server has accepted this client.
    pub(super) has_started: bool,
    pub(super) is_preparing: bool,
    pub(super) open_timer: Option<TimerKey>,
    pub(super) token_timer: Option<TimerKey>,
    pub(super) failure: Option<Error>,
    /// Why no session lasts. None: a session has started.
    pub(super) last_error: Option<Error>,
    pub(super) ready: Option<oneshot::Sender<Result<(), Error>>>,
    pub(super) leases: HeldLeases,
    pub(super) intents: BTreeMap<u64, Intent>,
    pub(super) intent_count: u64,
    /// The number of intents that their callers have given up.
    pub(super) abandoned_count: usize,
    pub(super) update_count: u64,
    pub(super) releases: BTreeMap<String, ReleaseTask>,
    /// Leases that were held for too long. Their work may still run, and may end before their
    /// deadlines.
    pub(super) held_too_long: HashMap<String, HeldTooLong>,
    /// The leases of work that still runs while the client closes.
    pub(super) working: HashMap<String, Arc<LeaseState>>,
    pub(super) timers: Timers<Timer>,
    pub(super) actions: Vec<Action>,
}

impl Engine {
    /// The first session is opened at once. `ready` gets the first answer of a server.
    pub(crate) fn new(
        settings: EngineSettings,
        ready: oneshot::Sender<Result<(), Error>>,
        now: Time,
    ) -> Engine {
        let mut engine = Engine {
            address_count: 1,
            connect_until: now + settings.connect,
            settings,
            client_id: uuid::Uuid::new_v4().to_string(),
            phase: Phase::Running,
            sessions: BTreeMap::new(),
            current: None,
            session_count: 0,
            failures: 0,
            refusals: 0,
            has_started: false,
            is_preparing: false,
            open_timer: None,
            token_timer: None,
            failure: None,
            last_error: None,
            ready: Some(ready),
            leases: HeldLeases::default(),
            intents: BTreeMap::new(),
            intent_count: 0,
            abandoned_count: 0,
            update_count: 0,
            releases: BTreeMap::new(),
            held_too_long: HashMap::new(),
            working: HashMap::new(),
            timers: Timers::new(),
            actions: Vec::new(),
        };
        engine.open_after(Duration::ZERO, now);
        engine
    }

    /// Does all that is due, and returns what the driver has to do.
    pub(crate) fn poll(&mut self, now: Time) -> Vec<Action> {
        while let Some(timer) = self.timers.due(now) {
            self.fire(timer, now);
        }
        self.wake_sessions(now);
        let shortest_ttl = self.leases.shortest_ttl();
        for (&number, session) in &mut self.sessions {
            for request in session.flush(now, shortest_ttl) {
                let is_counted = request.start.is_some() || request.heartbeat_id == 0;
                self.actions.push(Action::Send {
                    session: number,
                    request,
                    is_counted,
                });
            }
        }
        std::mem::take(&mut self.actions)
    }

    /// The time of the next call of `poll`, if nothing happens before.
    pub(crate) fn next_wake(&self) -> Option<Time> {
        let sessions = self.sessions.values().map(|session| session.wake_at);
        sessions
            .chain(self.timers.next())
            .min()
            .filter(|&at| at != Time::MAX)
    }

    /// The stream has taken the last message with commands.
    pub(crate) fn written(&mut self, session: u64) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.written();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    pub(crate) fn last_error(&self) -> Option<&Error> {
        self.last_error.as_ref()
    }

    /// The error of a command without an answer. Says why no session lasts, or else why the last
    /// attempt of the command failed.
    pub(crate) fn no_answer(&self, what: String, last: Option<&Error>) -> Error {
        Error::no_answer(what, self.last_error.as_ref().or(last))
    }

    pub(crate) fn lease_count(&self) -> usize {
        self.leases.len()
    }

    pub(super) fn half_close(&mut self, number: u64, now: Time) {
        if let Some(session) = self.sessions.get_mut(&number)
            && session.half_close(now)
        {
            self.actions.push(Action::HalfClose { session: number });
        }
    }

    fn fire(&mut self, timer: Timer, now: Time) {
        match timer {
            Timer::OpenNext => {
                self.open_timer = None;
                self.is_preparing = true;
                self.actions.push(Action::Prepare);
            }
            Timer::TokenEnds { session } => self.token_ends(session, now),
            Timer::IntentLimit(id) => self.intent_is_late(id, now),
            Timer::ReleaseLimit(id) => self.release_is_late(&id, now),
            Timer::UpdateLimit(lease, number) => self.update_is_late(&lease, number, now),
            Timer::LeaseOver(lease) => self.compare_clock(&lease, now),
            Timer::HeldTooLong(lease) => {
                if let Some(too_long) = self.held_too_long.remove(&lease.id) {
                    self.release_id(&lease.id, too_long.ttl, now);
                }
            }
            Timer::Repeat { what, session } => self.repeat(what, session, now),
            Timer::CloseLimit => {
                if self.phase == Phase::Finishing {
                    self.end_last_session(now);
                }
            }
        }
    }

    fn wake_sessions(&mut self, now: Time) {
        let shortest_ttl = self.leases.shortest_ttl();
        let due: Vec<u64> = self
            .sessions
            .values()
            .filter(|session| session.wake_at <= now)
            .map(|session| session.number)
            .collect();
        for number in due {
            let Some(session) = self.sessions.get_mut(&number) else {
                continue;
            };
            match session.wake(now, shortest_ttl) {
                Wake::Leave => {
                    self.leave(number, now);
                    continue;
                }
                Wake::Heartbeat => {
                    let request = session.heartbeat(Vec::new(), now);
                    self.actions.push(Action::Send {
                        session: number,
                        request,
                        is_counted: false,
                    });
                }
                Wake::Nothing => {}
            }
            session.plan_heartbeat(shortest_ttl);
        }
    }
}
