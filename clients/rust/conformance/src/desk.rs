//! What the driver has opened, by the names that the case gave.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use holdfast_client::{Holdfast, Lease, TypeAhead};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use crate::failures::Failure;

pub type Reply = Result<Value, Failure>;

/// The fields of a command.
pub struct Fields(pub Value);

impl Fields {
    /// Empty if the field is absent.
    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.0[name].as_f64().map(|number| number as u64)
    }

    /// A `Duration` has no negative values, so they are read as zero.
    pub fn time(&self, name: &str) -> Option<Duration> {
        self.0[name]
            .as_f64()
            .map(|ms| Duration::from_secs_f64(ms.max(0.0) / 1000.0))
    }

    pub fn pairs(&self, name: &str) -> Vec<(String, String)> {
        let object = self.0[name].as_object().into_iter().flatten();
        object
            .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect()
    }
}

/// A lease of the driver.
pub struct Kept {
    /// None after the release.
    pub lease: Option<Arc<Lease>>,
    pub is_released: Arc<std::sync::atomic::AtomicBool>,
}

#[derive(Default)]
struct Names {
    clients: HashMap<String, Holdfast>,
    leases: HashMap<String, Arc<Mutex<Kept>>>,
    inputs: HashMap<String, Arc<TypeAhead>>,
    /// The bodies of `with_lock`, which wait for `end_work`.
    works: HashMap<u64, oneshot::Sender<Option<String>>>,
    /// The commands without a result.
    cancels: HashMap<u64, Arc<Notify>>,
}

#[derive(Default)]
pub struct Desk(Mutex<Names>);

impl Desk {
    pub fn new() -> Desk {
        Desk::default()
    }

    /// Writes a line.
    pub fn tell(&self, message: Value) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{message}").expect("the runner reads the lines");
        out.flush().expect("the runner reads the lines");
    }

    pub fn add(&self, name: &str, client: Holdfast) {
        self.names().clients.insert(name.to_owned(), client);
    }

    pub fn client(&self, fields: &Fields) -> Result<Holdfast, Failure> {
        let name = fields.text("client");
        let client = self.names().clients.get(name).cloned();
        client.ok_or_else(|| Failure::other(&format!("there is no client {name}")))
    }

    /// For a command that names no client.
    pub fn only_client(&self) -> Result<Holdfast, Failure> {
        let client = self.names().clients.values().next().cloned();
        client.ok_or_else(|| Failure::other("there is no client"))
    }

    pub fn keep(&self, name: &str, kept: Kept) {
        self.names()
            .leases
            .insert(name.to_owned(), Arc::new(Mutex::new(kept)));
    }

    pub fn kept(&self, fields: &Fields) -> Result<Arc<Mutex<Kept>>, Failure> {
        let name = fields.text("lease");
        let kept = self.names().leases.get(name).cloned();
        kept.ok_or_else(|| Failure::other(&format!("there is no lease {name}")))
    }

    pub fn add_input(&self, name: &str, input: TypeAhead) {
        self.names().inputs.insert(name.to_owned(), Arc::new(input));
    }

    pub fn input(&self, name: &str) -> Option<Arc<TypeAhead>> {
        self.names().inputs.get(name).cloned()
    }

    pub fn add_work(&self, of: u64) -> oneshot::Receiver<Option<String>> {
        let (end, ended) = oneshot::channel();
        self.names().works.insert(of, end);
        ended
    }

    pub fn end_work(&self, of: u64, fail: Option<String>) {
        if let Some(end) = self.names().works.remove(&of) {
            let _ = end.send(fail);
        }
    }

    /// Resolves when the command `cancel` names this command.
    pub fn cancellation(&self, id: Option<u64>) -> impl Future<Output = ()> + use<> {
        let cancel = Arc::new(Notify::new());
        self.names()
            .cancels
            .insert(id.unwrap_or_default(), cancel.clone());
        async move { cancel.notified().await }
    }

    pub fn cancel(&self, of: Option<u64>) {
        if let Some(cancel) = self.names().cancels.get(&of.unwrap_or_default()) {
            cancel.notify_one();
        }
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.0.lock().expect("no command panics with the lock")
    }
}
