//! Shows the leader of an election. With a value it also campaigns, leads until a signal, and then
//! resigns.

use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use futures_util::StreamExt;
use holdfast_client::{ConnectOptions, Election};
use holdfast_examples::{Target, exit, millis, stop_signal, told};
use tokio_util::sync::CancellationToken;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    election: Target,
    /// What the others see of this leader; without it the program only observes
    #[arg(long)]
    value: Option<String>,
    /// The time after which another process can lead if this one is killed
    #[arg(long, default_value = "10000", value_parser = millis)]
    ttl_ms: Duration,
}

#[tokio::main]
async fn main() {
    exit(run(Args::parse()).await)
}

async fn run(args: Args) -> Result<()> {
    let stop = stop_signal()?;
    let hf = ConnectOptions::new()
        .connect(&args.election.servers)
        .await?;
    let election = hf.election(&args.election.name).ttl(args.ttl_ms);
    let result = tokio::select! {
        result = observe(&election) => result,
        result = lead(&election, args.value, &stop) => result,
    };
    let result = told(result);
    hf.close().await;
    result
}

async fn observe(election: &Election) -> Result<()> {
    let mut leaders = election.observe();
    while let Some(leader) = leaders.next().await {
        match leader? {
            Some(leader) => println!(
                "leader: {} under token {}",
                leader.value, leader.fencing_token
            ),
            None => println!("leader: none"),
        }
    }
    Ok(())
}

async fn lead(election: &Election, value: Option<String>, stop: &CancellationToken) -> Result<()> {
    let Some(value) = value else {
        stop.cancelled().await;
        return Ok(());
    };
    let lease = tokio::select! {
        lease = election.campaign(value) => lease?,
        () = stop.cancelled() => return Ok(()),
    };
    println!("elected under token {}", lease.fencing_token()?);
    tokio::select! {
        lost = lease.lost() => return Err(lost.into()),
        () = stop.cancelled() => {}
    }
    lease.release().await?;
    println!("resigned");
    Ok(())
}
