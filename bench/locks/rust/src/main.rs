//! Makes load on the locks of the Rust package. bench/locks/driver.ts describes the tasks.

use std::process;
use std::time::{Duration, Instant};

use holdfast_client::{Holdfast, Lease, connect};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The locks of each client.
const LOCKS_EACH: usize = 100;
/// The time between two writes of a holder.
const WORK_EVERY: Duration = Duration::from_millis(5);
const LONG_WAIT: Duration = Duration::from_secs(3600);

/// The machine's monotonic clock, which is the same for all processes (ms).
fn monotonic_ms() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

fn must<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| {
        eprintln!("{error}");
        process::exit(1)
    })
}

fn reply(message: &Value) {
    println!("{message}");
}

#[derive(Clone)]
struct Locks {
    client: Holdfast,
    ttl: Duration,
}

impl Locks {
    async fn acquire(&self, name: String) -> Lease {
        let lock = self.client.lock(name).ttl(self.ttl).wait(LONG_WAIT);
        must(lock.acquire().await)
    }
}

async fn release(lease: Lease) {
    if !must(lease.release().await).released {
        eprintln!("a lease was lost: the machine is too busy for this benchmark");
        process::exit(1);
    }
}

/// The fields of a task's input.
struct Input(Value);

impl Input {
    fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    fn number(&self, field: &str) -> usize {
        self.0[field].as_u64().unwrap_or_default() as usize
    }

    fn milliseconds(&self, field: &str) -> Duration {
        Duration::from_millis(self.number(field) as u64)
    }
}

async fn alone(locks: &Locks, input: &Input) -> Value {
    let end = Instant::now() + input.milliseconds("forMs");
    let mut clients = JoinSet::new();
    for client in 0..input.number("clients") {
        let locks = locks.clone();
        clients.spawn(async move {
            let mut times = Vec::new();
            for turn in (0..LOCKS_EACH).cycle() {
                if Instant::now() >= end {
                    break;
                }
                let name = format!("alone-{}-{client}-{turn}", process::id());
                let asked_at = monotonic_ms();
                let lease = locks.acquire(name).await;
                times.push(monotonic_ms() - asked_at);
                release(lease).await;
            }
            times
        });
    }
    json!(clients.join_all().await.concat())
}

/// Who waits for one lock.
#[derive(Clone)]
struct Contest {
    locks: Locks,
    name: String,
    end: Instant,
    hold: Duration,
    /// Asks for a new waiter (true), or tells that a waiter has ended (false), with its grant.
    news: UnboundedSender<Option<Value>>,
}

async fn wait(contest: Contest) {
    let asked_at = monotonic_ms();
    let lease = contest.locks.acquire(contest.name).await;
    let granted_at = monotonic_ms();
    if Instant::now() < contest.end {
        must(contest.news.send(None));
        sleep(contest.hold).await;
    }
    let released_at = monotonic_ms();
    release(lease).await;
    let grant = json!({ "askedAt": asked_at, "grantedAt": granted_at, "releasedAt": released_at });
    must(contest.news.send(Some(grant)));
}

async fn contend(locks: &Locks, input: &Input) -> Value {
    let (news, mut told) = unbounded_channel();
    let contest = Contest {
        locks: locks.clone(),
        name: input.text("name").to_owned(),
        end: Instant::now() + input.milliseconds("forMs"),
        hold: input.milliseconds("holdMs"),
        news,
    };
    let first = input.number("waiters");
    let beginning = contest.clone();
    tokio::spawn(async move {
        for _ in 0..first {
            tokio::spawn(wait(beginning.clone()));
            sleep(beginning.hold).await;
        }
    });
    let (mut left, mut grants) = (first, Vec::new());
    while left > 0 {
        match told.recv().await {
            Some(Some(grant)) => {
                grants.push(grant);
                left -= 1;
            }
            _ => {
                left += 1;
                tokio::spawn(wait(contest.clone()));
            }
        }
    }
    json!(grants)
}

/// A holder writes every 5 ms without a look at the clock.
fn hold(locks: &Locks, input: &Input) {
    for lock in 0..input.number("count") {
        let (locks, name) = (locks.clone(), format!("{}-{lock}", input.text("name")));
        tokio::spawn(async move {
            let lease = locks.acquire(name).await;
            let token = must(lease.fencing_token()).to_string();
            loop {
                let write = json!({ "lock": lock, "isHeld": lease.is_valid(), "token": token });
                reply(&json!({ "event": write }));
                sleep(WORK_EVERY).await;
            }
        });
    }
}

async fn run(locks: &mut Option<Locks>, task: &str, input: Input) -> Value {
    if task == "open" {
        let client = must(connect(input.text("address")).await);
        let ttl = input.milliseconds("ttlMs");
        *locks = Some(Locks { client, ttl });
        return json!({ "pid": process::id(), "version": env!("CARGO_PKG_VERSION") });
    }
    let locks = must(locks.as_ref().ok_or("call open first"));
    match task {
        "alone" => alone(locks, &input).await,
        "contend" => contend(locks, &input).await,
        "hold" => {
            hold(locks, &input);
            Value::Null
        }
        other => must(Err(format!("there is no task {other}"))),
    }
}

#[tokio::main]
async fn main() {
    let mut locks = None;
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = must(lines.next_line().await) {
        let call: Value = must(serde_json::from_str(&line));
        let task = call["task"].as_str().unwrap_or_default();
        let output = run(&mut locks, task, Input(call["input"].clone())).await;
        reply(&json!({ "id": call["id"], "output": output }));
    }
    // The process ends with its input, whatever a runtime still waits for.
    process::exit(0);
}
