//! Runs jobs, each under one permit of a semaphore. Several processes share the permits. Those of a
//! killed process come back after the ttl.

use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use holdfast_client::{ConnectOptions, Error, Semaphore};
use holdfast_examples::{Stopped, exit, millis};
use tokio::task::JoinSet;

#[derive(Clone, Parser)]
struct Args {
    /// The name of the semaphore
    name: String,
    /// The addresses of the servers, with commas
    #[arg(long, default_value = "127.0.0.1:50051")]
    servers: String,
    /// What others see of this process
    #[arg(long, default_value_t = format!("pool-{}", std::process::id()))]
    holder: String,
    /// The number of jobs
    #[arg(long, default_value_t = 6)]
    jobs: u32,
    /// The permits of a semaphore that does not exist yet
    #[arg(long, default_value_t = 2)]
    limit: u32,
    /// The time after which the permits of a killed process are free
    #[arg(long, default_value = "10000", value_parser = millis)]
    ttl_ms: Duration,
    /// The time of a job
    #[arg(long, default_value = "1000", value_parser = millis)]
    job_ms: Duration,
}

#[tokio::main]
async fn main() {
    exit(run(Args::parse()).await)
}

async fn run(args: Args) -> Result<()> {
    let options = ConnectOptions::new().holder_id(&args.holder);
    let hf = options.connect(&args.servers).await?;
    let permits = hf.semaphore(&args.name).limit(args.limit).ttl(args.ttl_ms);
    let mut jobs = JoinSet::new();
    for number in 1..=args.jobs {
        let job = format!("{}: job {number}", args.holder);
        jobs.spawn(run_job(permits.clone(), job, args.job_ms));
    }
    let mut done = 0;
    while let Some(is_done) = jobs.join_next().await {
        done += u32::from(is_done??);
    }
    hf.close().await;
    println!("{}: {done} jobs done", args.holder);
    if done < args.jobs {
        Err(Stopped.into())
    } else {
        Ok(())
    }
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
