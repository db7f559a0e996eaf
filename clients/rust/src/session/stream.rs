//! One stream: heartbeats, the order of commands, and whom an event concerns.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use holdfast_proto::holdfast::v1::session_command::Command;
use holdfast_proto::holdfast::v1::{
    OpenSessionRequest, SessionCommand, SessionStart, SessionStarted,
};
use prost::Message;

use super::heartbeats::{HeartbeatPlan, HeartbeatRecord};
use super::lease_state::LeaseState;
use crate::clock::{Time, span};
use crate::numbers::{
    COMMANDS_SHARE_OF_MESSAGE, HALF_CLOSE, MAX_ATTACHES_UNANSWERED, MAX_COMMANDS_IN_MESSAGE,
    MAX_MESSAGE_BYTES,
};

/// The owner of a command, and later of its lease.
#[derive(Clone, Debug)]
pub(super) enum Owner {
    /// The acquire of an intent.
    Acquire(u64),
    /// The attach of a lease from an earlier session.
    Attach(Arc<LeaseState>),
    /// A lease that this session holds.
    Lease(Arc<LeaseState>),
    /// The release of the lease with this id.
    Release(String),
    /// The update of a lease, with the number of the update.
    Update(Arc<LeaseState>, u64),
}

/// What a wake of a session found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wake {
    Nothing,
    Heartbeat,
    /// The server is silent.
    Leave,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) number: u64,
    pub(super) address: Arc<str>,
    pub(super) is_started: bool,
    /// The server has asked the client to leave, so new acquires go to the next session.
    pub(super) is_leaving: bool,
    pub(super) owners: HashMap<i64, Owner>,
    /// The next time at which a heartbeat or a judgement is due.
    pub(super) wake_at: Time,
    record: HeartbeatRecord,
    plan: HeartbeatPlan,
    attaches: HashSet<i64>,
    queue: VecDeque<SessionCommand>,
    last_command_id: i64,
    start: Option<SessionStart>,
    max_commands: usize,
    max_bytes: usize,
    is_writing: bool,
    is_half_closed: bool,
}

impl Session {
    pub(super) fn new(
        number: u64,
        address: Arc<str>,
        start: SessionStart,
        first_answer: Duration,
    ) -> Session {
        Session {
            number,
            address,
            is_started: false,
            is_leaving: false,
            owners: HashMap::new(),
            wake_at: Time::MAX,
            record: HeartbeatRecord::default(),
            plan: HeartbeatPlan::new(first_answer),
            attaches: HashSet::new(),
            queue: VecDeque::new(),
            last_command_id: 0,
            start: Some(start),
            max_commands: MAX_COMMANDS_IN_MESSAGE,
            max_bytes: MAX_MESSAGE_BYTES,
            is_writing: false,
            is_half_closed: false,
        }
    }

    /// Sends a command with the other commands of this moment. Returns its id.
    pub(super) fn run(&mut self, command: Command, owner: Option<Owner>) -> i64 {
        self.last_command_id += 1;
        let command_id = self.last_command_id;
        if !self.is_half_closed {
            self.queue.push_back(SessionCommand {
                command_id,
                command: Some(command),
            });
            if let Some(owner) = owner {
                self.owners.insert(command_id, owner);
            }
        }
        command_id
    }

    /// The messages of this moment. A message with commands waits until the stream has taken the one
    /// before, so that few messages lie in memory.
    pub(super) fn flush(
        &mut self,
        now: Time,
        shortest_ttl: Option<Duration>,
    ) -> Vec<OpenSessionRequest> {
        let mut requests = Vec::new();
        if self.is_half_closed {
            return requests;
        }
        if self.start.is_some() {
            let commands = self.next_commands();
            self.is_writing = true;
            requests.push(self.heartbeat(commands, now));
            self.plan_heartbeat(shortest_ttl);
        }
        if !self.is_writing {
            let commands = self.next_commands();
            if !commands.is_empty() {
                self.is_writing = true;
                requests.push(OpenSessionRequest {
                    start: None,
                    heartbeat_id: 0,
                    commands,
                });
            }
        }
        requests
    }

    /// The stream has taken the last message.
    pub(super) fn written(&mut self) {
        self.is_writing = false;
    }

    pub(super) fn heartbeat(
        &mut self,
        commands: Vec<SessionCommand>,
        now: Time,
    ) -> OpenSessionRequest {
        OpenSessionRequest {
            start: self.start.take(),
            heartbeat_id: self.record.send(now),
            commands,
        }
    }

    /// A shorter ttl needs earlier heartbeats.
    pub(super) fn plan_heartbeat(&mut self, shortest_ttl: Option<Duration>) {
        if !self.is_half_closed && self.start.is_none() {
            self.wake_at = self.plan.wake_at(&self.record, shortest_ttl);
        }
    }

    pub(super) fn wake(&mut self, now: Time, shortest_ttl: Option<Duration>) -> Wake {
        if self.is_half_closed {
            return Wake::Leave;
        }
        self.plan.woke(self.wake_at, now, shortest_ttl);
        if self.plan.is_silent(now, &self.record, shortest_ttl) {
            return Wake::Leave;
        }
        let period = self.plan.period(shortest_ttl);
        match self.record.last_sent() {
            Some(last) if now < last + period => Wake::Nothing,
            _ => Wake::Heartbeat,
        }
    }

    /// Ends the stream in order. Returns false if that has happened before.
    pub(super) fn half_close(&mut self, now: Time) -> bool {
        let is_first = !self.is_half_closed;
        if is_first {
            self.is_half_closed = true;
            self.wake_at = now + HALF_CLOSE;
        }
        is_first
    }

    /// The time of the heartbeat that a response names. None: the response may not be believed.
    pub(super) fn answered(&mut self, heartbeat_id: i64) -> Option<Time> {
        self.record.answer(heartbeat_id)
    }

    pub(super) fn started(&mut self, started: &SessionStarted) {
        self.is_started = true;
        self.plan.started(span(started.heartbeat_timeout.as_ref()));
        self.max_commands = bound(started.max_command_count, MAX_COMMANDS_IN_MESSAGE);
        self.max_bytes = bound(started.max_message_bytes, MAX_MESSAGE_BYTES);
    }

    pub(super) fn interval(&mut self, interval: Option<Duration>) {
        self.plan.interval(interval);
    }

    /// Forgets the owner of a command or a lease after its last event.
    pub(super) fn last_event(&mut self, command_id: i64) {
        self.owners.remove(&command_id);
        self.attaches.remove(&command_id);
    }

    fn next_commands(&mut self) -> Vec<SessionCommand> {
        let mut commands = Vec::new();
        // The rest of a message is for `start`.
        let max_bytes = (self.max_bytes as f64 * COMMANDS_SHARE_OF_MESSAGE) as usize;
        let mut bytes = 0;
        while commands.len() < self.max_commands
            && let Some(command) = self.queue.front()
        {
            let id = command.command_id;
            let attach = match self.owners.get(&id) {
                Some(Owner::Attach(lease)) => Some(lease),
                _ => None,
            };
            // Thousands of attaches may wait for the window, while the work of their leases ends.
            if attach.is_some_and(|lease| lease.cause().is_some()) {
                self.owners.remove(&id);
                self.queue.pop_front();
                continue;
            }
            let is_attach = attach.is_some();
            if is_attach && self.attaches.len() >= MAX_ATTACHES_UNANSWERED {
                break;
            }
            bytes += command.encoded_len() + 8;
            if !commands.is_empty() && bytes > max_bytes {
                break;
            }
            if is_attach {
                self.attaches.insert(id);
            }
            commands.extend(self.queue.pop_front());
        }
        commands
    }
}

fn bound(named: i32, own: usize) -> usize {
    usize::try_from(named)
        .ok()
        .filter(|&named| named > 0)
        .map_or(own, |named| named.min(own))
}
