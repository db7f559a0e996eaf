//! Carries out the actions of the engine.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_proto::holdfast::v1::OpenSessionRequest;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::engine::{Action, Engine, Opening};
use super::news;
use super::wire::{Outgoing, WireEvent, converse};
use crate::clock::{Clock, Time};
use crate::connection::{Connector, Prepared, Servers};
use crate::error::Error;

/// Messages of servers that wait for the driver. A full queue lets the streams wait.
const EVENTS: usize = 16;

/// The engine, shared by the callers and the driver.
pub(super) struct Shared {
    engine: Mutex<Engine>,
    wake: Notify,
    clock: Clock,
}

impl Shared {
    pub(super) fn new(clock: Clock, engine: Engine) -> Shared {
        Shared {
            engine: Mutex::new(engine),
            wake: Notify::new(),
            clock,
        }
    }

    /// Runs a step of the engine, and wakes the driver.
    pub(super) fn with<T>(&self, step: impl FnOnce(&mut Engine, Time) -> T) -> T {
        let result = self.look(step);
        self.wake.notify_one();
        result
    }

    /// Runs a step of the engine that gives the driver nothing to do.
    pub(super) fn look<T>(&self, step: impl FnOnce(&mut Engine, Time) -> T) -> T {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        step(&mut engine, self.clock.now())
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }
}

struct Wire {
    /// None after the half-close.
    requests: Option<mpsc::UnboundedSender<(OpenSessionRequest, bool)>>,
    task: AbortHandle,
}

struct Driver {
    shared: Arc<Shared>,
    connector: Arc<Connector>,
    servers: Arc<Servers>,
    wires: HashMap<u64, Wire>,
    tasks: JoinSet<()>,
    events: mpsc::Sender<WireEvent>,
    prepared: mpsc::Sender<Result<Prepared, Error>>,
}

/// Closes the engine with the driver, which may end before the client: a runtime that goes away drops
/// all its tasks.
pub(super) struct DriverEnd {
    shared: Arc<Shared>,
    /// Told after the end.
    over: watch::Sender<bool>,
    pid: u32,
}

impl DriverEnd {
    pub(super) fn new(shared: Arc<Shared>, over: watch::Sender<bool>) -> DriverEnd {
        let pid = std::process::id();
        DriverEnd { shared, over, pid }
    }
}

impl Drop for DriverEnd {
    fn drop(&mut self) {
        // Another thread of the parent may have held the lock at the fork.
        if std::process::id() != self.pid {
            return;
        }
        let actions = self.shared.look(|engine, now| {
            engine.close_now(now);
            engine.poll(now)
        });
        actions
            .into_iter()
            .for_each(|action| harmless(|| drop(action)));
        self.over.send_replace(true);
    }
}

/// Runs until the engine is closed.
pub(super) async fn drive(
    shared: Arc<Shared>,
    connector: Arc<Connector>,
    servers: Servers,
    end: DriverEnd,
) {
    let (events, mut incoming) = mpsc::channel(EVENTS);
    let (prepared, mut openings) = mpsc::channel(1);
    let mut driver = Driver {
        shared: shared.clone(),
        connector,
        servers: Arc::new(servers),
        wires: HashMap::new(),
        tasks: JoinSet::new(),
        events,
        prepared,
    };
    loop {
        let (actions, pause, is_closed) = shared.look(|engine, now| {
            let actions = engine.poll(now);
            let pause = engine
                .next_wake()
                .map_or(Duration::from_secs(60), |at| now.until(at));
            (actions, pause, engine.is_closed())
        });
        actions.into_iter().for_each(|action| driver.act(action));
        if is_closed {
            break;
        }
        tokio::select! {
            () = shared.wake.notified() => {}
            Some(event) = incoming.recv() => driver.hear(event),
            Some(prepared) = openings.recv() => driver.open(prepared),
            Some(_) = driver.tasks.join_next() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    driver.tasks.shutdown().await;
    drop(driver);
    drop(end);
}

/// A panic of the user's function ends no session.
fn harmless(run: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        news::callback_panicked();
    }
}

impl Driver {
    fn act(&mut self, action: Action) {
        match action {
            Action::Prepare => {
                let (connector, servers) = (self.connector.clone(), self.servers.clone());
                let prepared = self.prepared.clone();
                self.tasks.spawn(async move {
                    let _ = prepared.send(connector.prepare(&servers).await).await;
                });
            }
            Action::Send {
                session,
                request,
                is_counted,
            } => {
                if let Some(Wire {
                    requests: Some(requests),
                    ..
                }) = self.wires.get(&session)
                {
                    // A stream that has ended tells so itself.
                    let _ = requests.send((request, is_counted));
                }
            }
            Action::HalfClose { session } => {
                if let Some(wire) = self.wires.get_mut(&session) {
                    wire.requests = None;
                }
            }
            Action::Destroy { session } => {
                if let Some(wire) = self.wires.remove(&session) {
                    wire.task.abort();
                }
            }
            Action::Tell(on_queued, place) => harmless(|| on_queued(place)),
            Action::Forget(on_queued) => harmless(|| drop(on_queued)),
        }
    }

    fn hear(&mut self, event: WireEvent) {
        match event {
            WireEvent::Response(session, response) => {
                self.shared
                    .look(|engine, now| engine.response(session, *response, now));
            }
            WireEvent::Ended(session, status) => {
                self.wires.remove(&session);
                self.shared
                    .look(|engine, now| engine.ended(session, status.as_ref(), now));
            }
        }
    }

    fn open(&mut self, prepared: Result<Prepared, Error>) {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                return self
                    .shared
                    .look(|engine, now| engine.not_opened(error, now));
            }
        };
        let opening = Opening {
            life: prepared.token_life(),
            server: prepared.turn().server.to_string().into(),
            left: prepared.turn().left,
            count: prepared.turn().count,
        };
        let opened = self.shared.look(|engine, now| engine.open(opening, now));
        let Some(session) = opened else { return };
        let (requests, receiver) = mpsc::unbounded_channel();
        let shared = self.shared.clone();
        let outgoing = Outgoing {
            requests: receiver,
            session,
            written: Box::new(move || shared.with(|engine, _| engine.written(session))),
            is_counted: false,
        };
        let task = self
            .tasks
            .spawn(converse(prepared, outgoing, self.events.clone()));
        self.wires.insert(
            session,
            Wire {
                requests: Some(requests),
                task,
            },
        );
    }
}
