//! Holds a lock, and works in steps. Each step is a write to a protected store, with the fencing
//! token of the lease.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use holdfast_client::{ConnectOptions, Holdfast, Lease};
use holdfast_examples::{Stopped, exit, millis, stop_signal};
use reqwest::{Client, StatusCode};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// A ledger that hangs must not hold the lock for ever.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Parser)]
struct Args {
    /// The name of the lock
    name: String,
    /// The addresses of the servers, with commas
    #[arg(long, default_value = "127.0.0.1:50051")]
    servers: String,
    /// What others see of this process
    #[arg(long, default_value_t = format!("worker-{}", std::process::id()))]
    holder: String,
    /// The address of the protected store
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    ledger: String,
    /// The time after which the lock of a killed process is free
    #[arg(long, default_value = "10000", value_parser = millis)]
    ttl_ms: Duration,
    /// The pause between two steps
    #[arg(long, default_value = "1000", value_parser = millis)]
    step_ms: Duration,
}

#[tokio::main]
async fn main() {
    // The client tells which server renews the lease.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    exit(run(&Args::parse()).await)
}

async fn run(args: &Args) -> Result<()> {
    let stop = stop_signal()?;
    let options = ConnectOptions::new().holder_id(&args.holder);
    let hf = options.connect(&args.servers).await?;
    let result = hold(&hf, args, &stop).await;
    hf.close().await; // gives back what is still held
    result
}

async fn hold(hf: &Holdfast, args: &Args, stop: &CancellationToken) -> Result<()> {
    let lock = hf.lock(&args.name).ttl(args.ttl_ms).on_queued(|place| {
        println!("queued: place {} of {}", place.position, place.waiter_count);
    });
    let lease = tokio::select! {
        lease = lock.acquire() => lease?,
        () = stop.cancelled() => return Ok(()),
    };
    let result = tokio::select! {
        result = work(&lease, args, stop) => result,
        _ = lease.lost() => Ok(()), // drops the work, with a write in progress
    };
    lease.check()?; // a loss explains an error of the work
    result?;
    lease.release().await?;
    println!("released");
    Ok(())
}

/// Takes steps until a signal comes.
async fn work(lease: &Lease, args: &Args, stop: &CancellationToken) -> Result<()> {
    println!("granted: token {}", lease.fencing_token()?);
    let store = format!("{}/{}", args.ledger, args.name);
    let http = Client::builder().timeout(TIMEOUT).build()?;
    let mut step = 0;
    while !stop.is_cancelled() {
        step += 1;
        let token = lease.fencing_token()?; // compares the clock: this process may have been stopped
        let text = format!("{}: step {step}", args.holder);
        let body = json!({ "token": token, "text": text });
        let answer = http.post(&store).json(&body).send().await?;
        match answer.status() {
            StatusCode::OK => println!("step {step} under token {token}"),
            StatusCode::CONFLICT => {
                let newer = answer.text().await?;
                println!("ledger refused token {token}: token {newer} has written");
                return Err(Stopped.into());
            }
            status => bail!("the ledger answered {status}"),
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(args.step_ms) => {}
        }
    }
    Ok(())
}
