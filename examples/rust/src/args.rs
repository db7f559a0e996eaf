//! The options of the programs.

use std::num::ParseIntError;
use std::path::PathBuf;
use std::process;
use std::time::Duration;

use clap::{Args, Parser};

/// The first argument, and where to find the name.
#[derive(Args)]
pub struct Target {
    /// The name of the lock, the semaphore, the election or the dictionary
    pub name: String,
    /// The addresses of the servers, with commas
    #[arg(long, default_value = "127.0.0.1:50051")]
    pub servers: String,
}

#[derive(Parser)]
pub struct WorkerArgs {
    #[command(flatten)]
    pub lock: Target,
    /// What others see of this process
    #[arg(long, default_value_t = format!("worker-{}", process::id()))]
    pub holder: String,
    /// The address of the protected store
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub ledger: String,
    /// The time after which the lock of a killed process is free
    #[arg(long, default_value = "10000", value_parser = millis)]
    pub ttl_ms: Duration,
    /// The pause between two steps
    #[arg(long, default_value = "1000", value_parser = millis)]
    pub step_ms: Duration,
}

#[derive(Parser)]
pub struct PoolArgs {
    #[command(flatten)]
    pub semaphore: Target,
    /// What others see of this process
    #[arg(long, default_value_t = format!("pool-{}", process::id()))]
    pub holder: String,
    /// The number of jobs
    #[arg(long, default_value_t = 6)]
    pub jobs: u32,
    /// The permits of a semaphore that does not exist yet
    #[arg(long, default_value_t = 2)]
    pub limit: u32,
    /// The time after which the permits of a killed process are free
    #[arg(long, default_value = "10000", value_parser = millis)]
    pub ttl_ms: Duration,
    /// The time of a job
    #[arg(long, default_value = "1000", value_parser = millis)]
    pub job_ms: Duration,
}

#[derive(Parser)]
pub struct LeaderArgs {
    #[command(flatten)]
    pub election: Target,
    /// What the others see of this leader; without it the program only observes
    #[arg(long)]
    pub value: Option<String>,
    /// The time after which another process can lead if this one is killed
    #[arg(long, default_value = "10000", value_parser = millis)]
    pub ttl_ms: Duration,
}

#[derive(Parser)]
pub struct TypeAheadArgs {
    #[command(flatten)]
    pub dictionary: Target,
    /// A file: its lines replace all entries of the dictionary
    #[arg(long)]
    pub import: Option<PathBuf>,
    /// The pause after a key before the query is sent
    #[arg(long, default_value = "30", value_parser = millis)]
    pub debounce_ms: Duration,
}

/// Reads the value of an option in milliseconds.
fn millis(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_millis)
}
