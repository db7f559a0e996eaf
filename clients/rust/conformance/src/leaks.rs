//! Sockets, threads and tasks that did not exist when the driver was ready.

use std::time::Duration;

use serde_json::json;
use tokio::runtime::Handle;

use crate::desk::Reply;

pub struct Baseline {
    sockets: usize,
    tasks: usize,
}

impl Baseline {
    pub fn new() -> Baseline {
        Baseline {
            sockets: sockets(),
            tasks: tasks(),
        }
    }

    pub async fn count(&self) -> Reply {
        // A task that has ended is gone a moment later.
        tokio::time::sleep(Duration::from_millis(50)).await;
        // The command itself is a task.
        let tasks = tasks().saturating_sub(self.tasks + 1);
        Ok(json!({ "sockets": sockets().saturating_sub(self.sockets), "tasks": tasks }))
    }
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// The open sockets, where the system lists them.
fn sockets() -> usize {
    let Ok(files) = std::fs::read_dir("/proc/self/fd") else {
        return 0;
    };
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}
