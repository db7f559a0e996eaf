//! Holds a lock, and works in steps. Each step is a write to a protected store, with the fencing
//! token of the lease.

use anyhow::Result;
use clap::Parser;
use holdfast_client::{ConnectOptions, Lease, QueuePlace};
use holdfast_examples::{Ledger, WorkerArgs, exit, log_to_stderr, stop_signal, told};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() {
    log_to_stderr(); // the client tells which server renews the lease
    exit(run(&WorkerArgs::parse()).await)
}

async fn run(args: &WorkerArgs) -> Result<()> {
    let stop = stop_signal()?;
    let options = ConnectOptions::new().holder_id(&args.holder);
    let hf = options.connect(&args.lock.servers).await?;
    let lock = hf.lock(&args.lock.name).ttl(args.ttl_ms);
    let lock = lock.on_queued(print_place);
    let result = match stop.run_until_cancelled(lock.acquire()).await {
        Some(Ok(lease)) => hold(lease, args, &stop).await,
        Some(Err(error)) => Err(error.into()),
        None => Ok(()), // a signal came first
    };
    let result = told(result);
    hf.close().await; // gives back what is still held
    result
}

fn print_place(place: QueuePlace) {
    println!("queued: place {} of {}", place.position, place.waiter_count);
}

/// Works until a signal comes or the lease is lost.
async fn hold(lease: Lease, args: &WorkerArgs, stop: &CancellationToken) -> Result<()> {
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

async fn work(lease: &Lease, args: &WorkerArgs, stop: &CancellationToken) -> Result<()> {
    let ledger = Ledger::new(&args.ledger, &args.lock.name)?;
    let mut step = 0;
    while !stop.is_cancelled() {
        step += 1;
        let token = lease.fencing_token()?; // compares the clock: this process may have been stopped
        ledger
            .write(token, &format!("{}: step {step}", args.holder))
            .await?;
        println!("step {step} under token {token}");
        stop.run_until_cancelled(tokio::time::sleep(args.step_ms))
            .await;
    }
    Ok(())
}
