//! The commands of the benchmarks. No case uses them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::try_join_all;
use holdfast_client::Lease;
use holdfast_proto::holdfast::v1::lock_service_client::LockServiceClient;
use holdfast_proto::holdfast::v1::{AcquireLockRequest, ReleaseLockRequest};
use serde_json::json;
use tonic::transport::{Channel, Endpoint};

use crate::desk::{Desk, Fields, Reply};
use crate::failures::Failure;

static STUB: Mutex<Option<LockServiceClient<Channel>>> = Mutex::new(None);
static HELD: Mutex<Vec<Lease>> = Mutex::new(Vec::new());

/// None: there is no such command.
pub async fn run(verb: &str, desk: &Desk, fields: &Fields) -> Option<Reply> {
    let reply = match verb {
        "bench_pairs" => pairs(desk, fields).await,
        "bench_stub_pairs" => stub_pairs(fields).await,
        "bench_hold" => hold(desk, fields).await,
        "bench_settle" => settle(),
        _ => return None,
    };
    Some(reply)
}

/// Runs the work for each index below `count`, with `in_flight` tasks at once.
async fn in_flight<W, F>(fields: &Fields, work: W) -> Reply
where
    W: Fn(u64, u64) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<(), Failure>> + Send,
{
    let count = fields.number("count").unwrap_or_default();
    let next = std::sync::Arc::new(AtomicU64::new(0));
    let workers = (0..fields.number("in_flight").unwrap_or(1)).map(|worker| {
        let (next, work) = (next.clone(), work.clone());
        tokio::spawn(async move {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return Ok::<(), Failure>(());
                }
                work(index, worker).await?;
            }
        })
    });
    let ended = try_join_all(workers).await;
    let results = ended.map_err(|error| Failure::other(&error.to_string()))?;
    results.into_iter().collect::<Result<Vec<()>, Failure>>()?;
    Ok(json!({ "ok": true }))
}

/// Acquires and releases. Each worker has a lock of its own.
async fn pairs(desk: &Desk, fields: &Fields) -> Reply {
    let (client, name) = (desk.client(fields)?, fields.text("name").to_owned());
    in_flight(fields, move |_, worker| {
        let lock = client.lock(format!("{name}-{worker}"));
        async move {
            lock.acquire().await?.release().await?;
            Ok(())
        }
    })
    .await
}

/// The same with the bare generated stub over one connection.
async fn stub_pairs(fields: &Fields) -> Reply {
    let (stub, name) = (stub(fields), fields.text("name").to_owned());
    in_flight(fields, move |_, worker| {
        let (mut stub, name) = (stub.clone(), format!("{name}-{worker}"));
        async move {
            let request = AcquireLockRequest {
                name,
                ..Default::default()
            };
            let answer = stub.acquire_lock(request).await.map_err(failed)?;
            let lease_id = answer
                .into_inner()
                .lease
                .map(|lease| lease.lease_id)
                .unwrap_or_default();
            let request = ReleaseLockRequest { lease_id };
            stub.release_lock(request).await.map_err(failed)?;
            Ok(())
        }
    })
    .await
}

fn stub(fields: &Fields) -> LockServiceClient<Channel> {
    let connect = || {
        let address = fields.0["addresses"][0].as_str().unwrap_or_default();
        let endpoint = Endpoint::from_shared(format!("http://{address}"));
        LockServiceClient::new(endpoint.expect("the address of a server").connect_lazy())
    };
    let mut stub = STUB.lock().expect("no command panics with the lock");
    stub.get_or_insert_with(connect).clone()
}

fn failed(status: tonic::Status) -> Failure {
    Failure::other(status.message())
}

/// Acquires locks, and keeps the leases.
async fn hold(desk: &Desk, fields: &Fields) -> Reply {
    let (client, name) = (desk.client(fields)?, fields.text("name").to_owned());
    in_flight(fields, move |index, _| {
        let lock = client.lock(format!("{name}-{index}"));
        async move {
            let lease = lock.acquire().await?;
            HELD.lock()
                .expect("no command panics with the lock")
                .push(lease);
            Ok(())
        }
    })
    .await
}

/// Counts the leases that are valid.
fn settle() -> Reply {
    let held = HELD.lock().expect("no command panics with the lock");
    let valid = held.iter().filter(|lease| lease.is_valid()).count();
    Ok(json!({ "held": valid }))
}
