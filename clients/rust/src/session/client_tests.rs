//! The client beside several runtimes, and functions of callers that use the client at their end.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures_util::FutureExt;
use holdfast_proto::holdfast::v1::{OpenSessionResponse, SessionEvent, SessionStarted};
use tokio::runtime::{Builder, Runtime};

use super::client::SessionClient;
use super::engine::EngineSettings;
use super::world::{granted, lock, opening, seconds};
use crate::clock::message_span;
use crate::connection::{Connector, Servers, TokenSource};
use crate::error::Error;
use crate::lease::Lease;
use crate::loss::LossCause;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A client that waits for a token, and so opens no session. The test opens the session.
fn client(runtime: &Runtime) -> Arc<SessionClient> {
    let token = || Box::pin(std::future::pending()) as _;
    let connector = Connector {
        token: Some(TokenSource::Callback(Arc::new(token))),
        ..Connector::default()
    };
    let settings = EngineSettings {
        connect: Duration::MAX,
        holder_id: String::new(),
        metadata: BTreeMap::new(),
    };
    let servers = Servers::new(&["127.0.0.1:1".into()]);
    runtime.block_on(async {
        let (client, _) = SessionClient::start(settings, Arc::new(connector), servers);
        Arc::new(client)
    })
}

/// A lease of the first session.
fn hold(client: &Arc<SessionClient>, ttl: Duration) -> Lease {
    let state = client.with_engine(|engine, now| {
        let (_, mut grant) = engine.acquire(lock("report"), now).unwrap();
        drop(engine.poll(now));
        let session = engine.open(opening("one:1"), now).unwrap();
        drop(engine.poll(now));
        let started = OpenSessionResponse {
            heartbeat_id: 1,
            started: Some(SessionStarted {
                heartbeat_timeout: Some(message_span(seconds(15))),
                ..Default::default()
            }),
            ..Default::default()
        };
        engine.response(session, started, now);
        drop(engine.poll(now));
        let response = OpenSessionResponse {
            heartbeat_id: 1,
            events: vec![SessionEvent {
                command_id: 1,
                event: Some(granted("report", ttl)),
            }],
            ..Default::default()
        };
        engine.response(session, response, now);
        grant.try_recv().unwrap().unwrap()
    });
    Lease::new(state, client.clone())
}

#[test]
fn the_end_of_the_runtime_of_the_client_ends_the_leases_that_another_runtime_uses() {
    for has_begun in [false, true] {
        let (runtime_of_client, runtime_of_work) = (runtime(), runtime());
        let client = client(&runtime_of_client);
        let lease = hold(&client, seconds(3600));
        if has_begun {
            runtime_of_client.block_on(tokio::task::yield_now());
        }
        let lost = lease.lost();
        drop(runtime_of_client);
        let loss = runtime_of_work.block_on(lost);
        assert_eq!(loss.cause(), LossCause::Closed);
        let released = runtime_of_work.block_on(lease.release());
        assert!(matches!(released, Err(Error::Closed)), "{released:?}");
        let acquired = runtime_of_work.block_on(client.acquire(lock("report")));
        assert!(matches!(acquired, Err(Error::Closed)), "{acquired:?}");
        runtime_of_work.block_on(client.close());
    }
}

#[test]
fn a_lease_is_lost_at_its_deadline_if_the_runtime_of_the_client_stands_still() {
    let (runtime_of_client, runtime_of_work) = (runtime(), runtime());
    let client = client(&runtime_of_client);
    let lease = hold(&client, Duration::from_millis(300));
    let loss = runtime_of_work.block_on(lease.lost());
    assert_eq!(loss.cause(), LossCause::Deadline);
}

#[test]
fn an_update_ends_with_the_lease_if_the_runtime_of_the_client_stands_still() {
    let (runtime_of_client, runtime_of_work) = (runtime(), runtime());
    let client = client(&runtime_of_client);
    let lease = hold(&client, Duration::from_millis(300));
    let updated = runtime_of_work.block_on(lease.update_metadata([("stage", "two")]));
    assert!(matches!(updated, Err(Error::LeaseLost(_))), "{updated:?}");
}

#[test]
fn an_update_whose_future_is_dropped_makes_room_for_the_next_one() {
    let runtime_of_client = runtime();
    let client = client(&runtime_of_client);
    let lease = hold(&client, seconds(3600));
    runtime_of_client.block_on(async {
        let mut first = Box::pin(lease.update_metadata([("stage", "one")]));
        assert!((&mut first).now_or_never().is_none());
        drop(first);
        let mut next = Box::pin(lease.update_metadata([("stage", "two")]));
        assert!((&mut next).now_or_never().is_none());
        let sent = client.with_engine(|engine, _| engine.first_stage());
        assert_eq!(sent.as_deref(), Some("two"));
    });
}

#[test]
fn an_executor_without_tokio_may_wait_for_the_loss() {
    let runtime_of_client = runtime();
    let client = client(&runtime_of_client);
    let lease = hold(&client, seconds(3600));
    let mut lost = Box::pin(lease.lost());
    assert!((&mut lost).now_or_never().is_none());
    client.start_close();
    let loss = lost.now_or_never();
    assert_eq!(loss.map(|loss| loss.cause()), Some(LossCause::Closed));
}

/// Uses the client at its end, as a lease does.
struct Owner(Arc<SessionClient>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.lease_count();
    }
}

#[test]
fn a_refused_acquire_may_drop_a_function_that_owns_a_lease() {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = runtime();
        let client = client(&runtime);
        let owner = Owner(client.clone());
        let mut acquire = lock("report");
        acquire.wishes.max_hold = Some(Duration::ZERO);
        acquire.on_queued = Some(Arc::new(move |_| assert_eq!(owner.0.lease_count(), 0)));
        let refused = runtime.block_on(client.acquire(acquire));
        done.send(refused.map(drop)).unwrap();
    });
    let refused = ended.recv_timeout(seconds(60)).unwrap();
    assert!(
        matches!(refused, Err(Error::InvalidRequest(_))),
        "{refused:?}"
    );
}
