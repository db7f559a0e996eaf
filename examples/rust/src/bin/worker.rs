//! Holds a lock, and works in steps. Each step is a write to a protected store, with the fencing
//! token of the lease.

use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use holdfast_client::{ConnectOptions, Lease};
use holdfast_examples::{Ledger, Target, exit, log_to_stderr, millis, stop_signal, told};
use tokio_util::sync::CancellationToken;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    lock: Target,
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
    log_to_stderr(); // the client tells which server renews the lease
    exit(run(&Args::parse()).await)
}

async fn run(args: &Args) -> Result<()> {
    let stop = stop_signal()?;
    let options = ConnectOptions::new().holder_id(&args.holder);
    let hf = options.connect(&args.lock.servers).await?;
    let lock = hf
        .lock(&args.lock.name)
        .ttl(args.ttl_ms)
        .on_queued(|place| {
            println!("queued: place {} of {}", place.position, place.waiter_count);
        });
    let result = tokio::select! {
        lease = lock.acquire() => hold(lease?, args, &stop).await,
        () = stop.cancelled() => Ok(()),
    };
    let result = told(result);
    hf.close().await; // gives back what is still held
    result
}

/// Works until a signal comes or the lease is lost.
async fn hold(lease: Lease, args: &Args, stop: &CancellationToken) -> Result<()> {
    println!("granted: token {}", lease.fencing_token()?);
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
    let ledger = Ledger::new(&args.ledger, &args.lock.name)?;
    let mut step = 0;
    while !stop.is_cancelled() {
        step += 1;
        let token = lease.fencing_token()?; // compares the clock: this process may have been stopped
        let text = format!("{}: step {step}", args.holder);
        ledger.write(token, &text).await?;
        println!("step {step} under token {token}");
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(args.step_ms) => {}
        }
    }
    Ok(())
}
