//! What the programs share: the options, the protected store, the end by a signal, and the exit codes.

mod args;
mod ledger;

use std::fmt;
use std::process;

use holdfast_client::{Error, LeaseLost};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use args::{LeaderArgs, PoolArgs, Target, TypeAheadArgs, WorkerArgs};
pub use ledger::Ledger;

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
