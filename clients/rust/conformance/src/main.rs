//! The conformance driver of the Rust client: JSON commands on stdin, results and events on stdout, as
//! clients/conformance/README.md describes.

mod bench;
mod clients;
mod desk;
mod failures;
#[cfg(unix)]
mod forked;
mod leaks;
mod leases;
mod products;
mod work;

use std::sync::Arc;

use desk::{Desk, Fields, Reply};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::main]
async fn main() {
    let desk = Arc::new(Desk::new());
    let leaks = Arc::new(leaks::Baseline::new());
    desk.tell(json!({ "ready": true, "language": "rust", "protocol": 1 }));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let fields = Fields(serde_json::from_str(&line).expect("a command is JSON"));
        let (desk, leaks) = (desk.clone(), leaks.clone());
        tokio::spawn(async move { serve(desk, leaks, fields).await });
    }
    // The leases are left to the ends of their ttl.
    std::process::exit(0);
}

/// Runs a command, until it is given up.
async fn serve(desk: Arc<Desk>, leaks: Arc<leaks::Baseline>, fields: Fields) {
    let id = fields.0["id"].clone();
    let cancelled = desk.cancellation(id.as_u64());
    let result = tokio::select! {
        biased;
        result = run(&desk, &leaks, &fields) => result,
        () = cancelled => Ok(json!({ "cancelled": true })),
    };
    let mut reply = match result {
        Ok(reply) => reply,
        Err(failure) => json!({ "error": failure.0 }),
    };
    reply["id"] = id;
    desk.tell(reply);
}

async fn run(desk: &Arc<Desk>, leaks: &leaks::Baseline, fields: &Fields) -> Reply {
    match fields.text("do") {
        "connect" => clients::connect(desk, fields).await,
        "server_info" => clients::server_info(desk, fields).await,
        "close" => clients::close(desk, fields).await,
        "lock" | "permits" => leases::acquire(desk, fields).await,
        "try_lock" | "try_permits" => leases::try_acquire(desk, fields).await,
        "campaign" => leases::campaign(desk, fields).await,
        "check" => leases::check(desk, fields),
        "release" => leases::release(desk, fields).await,
        "update" => leases::update(desk, fields).await,
        "update_value" => leases::update_value(desk, fields).await,
        "with_lock" => work::with_lock(desk, fields).await,
        "end_work" => work::end_work(desk, fields),
        "cancel" => {
            desk.cancel(fields.0["of"].as_u64());
            Ok(json!({ "cancelled": true }))
        }
        "leaks" => leaks.count().await,
        #[cfg(unix)]
        "fork" => forked::fork(desk, fields),
        verb if verb.starts_with("bench_") => {
            let reply = bench::run(verb, desk, fields).await;
            reply.unwrap_or_else(unsupported)
        }
        verb => {
            let reply = products::run(verb, desk, fields).await;
            reply.unwrap_or_else(unsupported)
        }
    }
}

fn unsupported() -> Reply {
    Ok(json!({ "unsupported": Value::Bool(true) }))
}
