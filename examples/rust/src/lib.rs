//! What the programs share: the options, the protected store, the end by a signal, and the exit codes.

mod ledger;

use std::fmt;
use std::num::ParseIntError;
use std::process;
use std::time::Duration;

use clap::Args;
use holdfast_client::{Error, LeaseLost};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use ledger::Ledger;

/// The first argument, and where to find the name.
#[derive(Args, Clone)]
pub struct Target {
    /// The name of the lock, the semaphore, the election or the dictionary
    pub name: String,
    /// The addresses of the servers, with commas
    #[arg(long, default_value = "127.0.0.1:50051")]
    pub servers: String,
}

/// Reads the value of an option in milliseconds.
pub fn millis(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_millis)
}

/// The program has stopped its work, because others may do the same work, and has said so.
#[derive(Debug)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the work was stopped")
    }
}

impl std::error::Error for Stopped {}

/// Shows what the client logs.
pub fn log_to_stderr() {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
}

/// A token that is cancelled at Ctrl-C and SIGTERM. A second signal ends the program at once, because
/// its last work may hang. Needs the runtime of tokio.
pub fn stop_signal() -> anyhow::Result<CancellationToken> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = CancellationToken::new();
    let signalled = stop.clone();
    tokio::spawn(async move {
        for is_second in [false, true] {
            let code = tokio::select! {
                _ = interrupt.recv() => 130, // as a shell reports the end by this signal
                _ = terminate.recv() => 143,
            };
            if is_second {
                process::exit(code);
            }
            signalled.cancel();
        }
    });
    Ok(stop)
}

/// Prints the loss of a lease, and makes it [`Stopped`]. Call this before `close`, which may wait 5 s
/// for a server that does not answer.
pub fn told(result: anyhow::Result<()>) -> anyhow::Result<()> {
    let Err(error) = result else { return Ok(()) };
    let lost = match error.downcast_ref() {
        Some(Error::LeaseLost(lost)) => Some(lost),
        _ => error.downcast_ref::<LeaseLost>(),
    };
    let Some(lost) = lost else { return Err(error) };
    println!("lease lost: {}, stopping", lost.cause());
    Err(Stopped.into())
}

/// Ends the program: 0 after its work or a signal, 3 after a loss, 1 after another error.
pub fn exit(result: anyhow::Result<()>) -> ! {
    let Err(error) = result else { process::exit(0) };
    if error.is::<Stopped>() {
        process::exit(3)
    }
    eprintln!("failed: {error}");
    process::exit(1)
}
