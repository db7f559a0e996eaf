//! Leases as handles.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use holdfast_client::{Holdfast, Lease, Lock, NoticedBy, Semaphore};
use serde_json::json;

use crate::desk::{Desk, Fields, Kept, Reply};
use crate::failures::Failure;

pub fn lock_of(client: &Holdfast, fields: &Fields) -> Lock {
    let mut lock = client.lock(fields.text("name"));
    if fields.text("mode") == "shared" {
        lock = lock.shared();
    }
    lock = fields.time("ttl_ms").into_iter().fold(lock, Lock::ttl);
    lock = fields.time("wait_ms").into_iter().fold(lock, Lock::wait);
    lock = fields
        .time("max_hold_ms")
        .into_iter()
        .fold(lock, Lock::max_hold);
    for (key, value) in fields.pairs("metadata") {
        lock = lock.metadata(key, value);
    }
    lock
}

fn permits_of(client: &Holdfast, fields: &Fields) -> Semaphore {
    let mut permits = client.semaphore(fields.text("name"));
    let count = |name| fields.number(name).map(|number| number as u32);
    permits = count("permits")
        .into_iter()
        .fold(permits, Semaphore::permits);
    permits = count("limit").into_iter().fold(permits, Semaphore::limit);
    permits = permits.exact_limit(fields.0["exact_limit"].as_bool() == Some(true));
    permits = fields
        .time("ttl_ms")
        .into_iter()
        .fold(permits, Semaphore::ttl);
    permits = fields
        .time("wait_ms")
        .into_iter()
        .fold(permits, Semaphore::wait);
    permits = fields
        .time("max_hold_ms")
        .into_iter()
        .fold(permits, Semaphore::max_hold);
    for (key, value) in fields.pairs("metadata") {
        permits = permits.metadata(key, value);
    }
    permits
}

pub async fn acquire(desk: &Arc<Desk>, fields: &Fields) -> Reply {
    let client = desk.client(fields)?;
    let lease = match fields.text("do") {
        "lock" => lock_of(&client, fields).acquire().await?,
        _ => permits_of(&client, fields).acquire().await?,
    };
    Ok(keep(desk, fields, lease))
}

pub async fn try_acquire(desk: &Arc<Desk>, fields: &Fields) -> Reply {
    let client = desk.client(fields)?;
    let lease = match fields.text("do") {
        "try_lock" => lock_of(&client, fields).try_acquire().await?,
        _ => permits_of(&client, fields).try_acquire().await?,
    };
    Ok(match lease {
        Some(lease) => keep(desk, fields, lease),
        None => json!({ "contended": true }),
    })
}

pub async fn campaign(desk: &Arc<Desk>, fields: &Fields) -> Reply {
    let mut election = desk.client(fields)?.election(fields.text("election"));
    if let Some(ttl) = fields.time("ttl_ms") {
        election = election.ttl(ttl);
    }
    let lease = election.campaign(fields.text("value")).await?;
    Ok(keep(desk, fields, lease))
}

/// Watches the lease, and tells its loss. A lease that is over on arrival is granted with the token 0.
fn keep(desk: &Arc<Desk>, fields: &Fields, lease: Lease) -> serde_json::Value {
    let granted_at = Instant::now();
    let name = fields.text("lease").to_owned();
    let token = lease.fencing_token().unwrap_or_default().to_string();
    let is_released = Arc::new(AtomicBool::new(false));
    let (lost, released, told) = (lease.lost(), is_released.clone(), desk.clone());
    desk.keep(
        &name,
        Kept {
            lease: Some(Arc::new(lease)),
            is_released,
        },
    );
    tokio::spawn(async move {
        let lost = lost.await;
        if released.load(Ordering::SeqCst) {
            return;
        }
        let noticed_by = match lost.noticed_by() {
            NoticedBy::Client => "client",
            NoticedBy::Server => "server",
        };
        told.tell(json!({
            "event": "lost",
            "lease": name,
            "cause": lost.cause().as_str(),
            "noticed_by": noticed_by,
            "at_ms": granted_at.elapsed().as_millis() as u64,
        }));
    });
    json!({ "granted": { "token": token } })
}

pub fn check(desk: &Desk, fields: &Fields) -> Reply {
    let kept = desk.kept(fields)?;
    let kept = kept.lock().expect("no command panics with the lock");
    let lease = kept.lease.as_ref().ok_or_else(released)?;
    lease.check()?;
    Ok(json!({ "valid": true, "remaining_ms": lease.remaining().as_millis() as u64 }))
}

pub async fn release(desk: &Desk, fields: &Fields) -> Reply {
    let lease = {
        let kept = desk.kept(fields)?;
        let mut kept = kept.lock().expect("no command panics with the lock");
        let lease = kept.lease.take().ok_or_else(released)?;
        // A release takes the lease itself, so the library offers none during an update.
        let lease = Arc::try_unwrap(lease).map_err(|lease| {
            kept.lease = Some(lease);
            Failure::other("an update is under way")
        })?;
        kept.is_released.store(true, Ordering::SeqCst);
        lease
    };
    Ok(json!({ "released": lease.release().await?.released }))
}

pub async fn update_value(desk: &Desk, fields: &Fields) -> Reply {
    let lease = {
        let kept = desk.kept(fields)?;
        let kept = kept.lock().expect("no command panics with the lock");
        kept.lease.clone().ok_or_else(released)?
    };
    // The name of the election does not matter to an update.
    let election = desk.only_client()?.election("boss");
    election.update_value(&lease, fields.text("value")).await?;
    Ok(json!({ "updated": true }))
}

pub async fn update(desk: &Desk, fields: &Fields) -> Reply {
    let lease = {
        let kept = desk.kept(fields)?;
        let kept = kept.lock().expect("no command panics with the lock");
        kept.lease.clone().ok_or_else(released)?
    };
    lease.update_metadata(fields.pairs("metadata")).await?;
    Ok(json!({ "updated": true }))
}

fn released() -> Failure {
    Failure::other("the lease was released")
}
