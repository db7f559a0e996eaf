//! The command `fork`: what a forked child finds of a lease.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use holdfast_client::{Holdfast, Lease};
use serde_json::json;

use crate::desk::{Desk, Fields, Reply};
use crate::failures::Failure;

/// What the child tells.
const LOST: u8 = 0;
const VALID: u8 = 1;
/// A release or a close waits in the child, where no task runs, so that this would be for ever.
const WAITS: u8 = 2;

pub fn fork(desk: &Desk, fields: &Fields) -> Reply {
    let client = desk.only_client()?;
    let kept = desk.kept(fields)?;
    // No other thread has the lock at the moment of the fork, because this thread has it.
    let mut kept = kept.lock().expect("no command panics with the lock");
    let (reader, writer) = pipe().map_err(|error| Failure::other(&error.to_string()))?;
    // SAFETY: the child calls the client library, which takes no lock in a child, writes a byte, and exits.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(Failure::other("the process cannot fork")),
        0 => in_child(&client, kept.lease.take().and_then(Arc::into_inner), writer),
        _ => {
            drop(writer);
            told(pid, reader)
        }
    }
}

/// Neither a panic nor a destructor may lead the child back into the runtime of the parent.
fn in_child(client: &Holdfast, lease: Option<Lease>, mut writer: PipeWriter) -> ! {
    let found = catch_unwind(AssertUnwindSafe(|| {
        let lease = lease?;
        let is_valid = lease.is_valid();
        lease.release().now_or_never()?.ok()?;
        client.close().now_or_never()?;
        Some(if is_valid { VALID } else { LOST })
    }));
    let byte = found.ok().flatten().unwrap_or(WAITS);
    let is_told = writer.write_all(&[byte]).is_ok();
    // SAFETY: ends the process at once, without the exit handlers of the parent.
    unsafe { libc::_exit(i32::from(!is_told)) }
}

fn told(pid: libc::pid_t, mut reader: PipeReader) -> Reply {
    let mut byte = [WAITS];
    let read = reader.read_exact(&mut byte);
    // SAFETY: waits for the own child, and wants no status.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    match byte {
        _ if read.is_err() => Err(Failure::other("the child told nothing")),
        [WAITS] => Err(Failure::other(
            "the release or the close waits in the child",
        )),
        [found] => Ok(json!({ "child": { "valid": found == VALID } })),
    }
}
