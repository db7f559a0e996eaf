//! Shows the leader of an election. With a value it also campaigns, leads until a signal, and then
//! resigns.

use anyhow::Result;
use clap::Parser;
use futures_util::StreamExt;
use holdfast_client::Election;
use holdfast_examples::{LeaderArgs, exit, stop_signal, told};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() {
    exit(run(LeaderArgs::parse()).await)
}

async fn run(args: LeaderArgs) -> Result<()> {
    let stop = stop_signal()?;
    let hf = holdfast_client::connect(&args.election.servers).await?;
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
            Some(one) => println!("leader: {} under token {}", one.value, one.fencing_token),
            None => println!("leader: none"),
        }
    }
    Ok(())
}

async fn lead(election: &Election, value: Option<String>, stop: &CancellationToken) -> Result<()> {
    let Some(value) = value else {
        stop.cancelled().await; // only observes
        return Ok(());
    };
    let Some(lease) = stop.run_until_cancelled(election.campaign(value)).await else {
        return Ok(());
    };
    let lease = lease?;
    println!("elected under token {}", lease.fencing_token()?);
    if let Some(lost) = stop.run_until_cancelled(lease.lost()).await {
        return Err(lost.into());
    }
    lease.release().await?;
    println!("resigned");
    Ok(())
}
