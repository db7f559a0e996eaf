//! Runs jobs, each under one permit of a semaphore. Several processes share the permits. Those of a
//! killed process come back after the ttl.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use futures_util::future::try_join_all;
use holdfast_client::{ConnectOptions, Error, Semaphore};
use holdfast_examples::{PoolArgs, Stopped, exit};

#[tokio::main]
async fn main() {
    exit(run(PoolArgs::parse()).await)
}

async fn run(args: PoolArgs) -> Result<()> {
    let options = ConnectOptions::new().holder_id(&args.holder);
    let hf = options.connect(&args.semaphore.servers).await?;
    let permits = hf.semaphore(&args.semaphore.name).limit(args.limit);
    let permits = permits.ttl(args.ttl_ms);
    let jobs = (1..=args.jobs).map(|number| {
        let job = format!("{}: job {number}", args.holder);
        run_job(permits.clone(), job, args.job_ms)
    });
    let results = try_join_all(jobs).await?;
    hf.close().await;
    let done = results.iter().filter(|is_done| **is_done).count();
    println!("{}: {done} jobs done", args.holder);
    if done < results.len() {
        bail!(Stopped);
    }
    Ok(())
}

/// Returns false if the job lost its permit.
async fn run_job(permit: Semaphore, job: String, length: Duration) -> Result<bool, Error> {
    let done = permit.try_run(async |lease| {
        println!("{job} begins under token {}", lease.fencing_token()?);
        tokio::time::sleep(length).await; // a loss of the permit drops the job here
        lease.check()?; // compares the clock: this process may have been stopped
        println!("{job} ends");
        Ok(())
    });
    match done.await {
        Ok(()) => Ok(true),
        Err(Error::LeaseLost(lost)) => {
            println!("{job} lost its permit: {}", lost.cause());
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
