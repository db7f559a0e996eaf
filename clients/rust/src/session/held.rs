//! The leases in which this process believes.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::lease_state::LeaseState;
use super::tasks::UpdateTask;
use super::timers::TimerKey;
use crate::clock::Time;
use crate::numbers::MAX_ENDED_LEASES_REMEMBERED;

/// A lease in which this process believes.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) state: Arc<LeaseState>,
    pub(super) ttl: Duration,
    /// The session that holds the lease, or that was last sent an attach.
    pub(super) home: u64,
    /// The number of the lease in `home`. None until the attach is answered.
    pub(super) number: Option<i64>,
    /// The number of failed attaches in a row.
    pub(super) failed_attaches: u32,
    pub(super) timer: Option<TimerKey>,
    /// The updates without an answer, in the order of the calls. Only the first one is sent.
    pub(super) updates: VecDeque<UpdateTask>,
}

/// The leases in which this process believes, and the ids of those that are over.
#[derive(Debug, Default)]
pub(super) struct HeldLeases {
    held: HashMap<String, Held>,
    over: HashSet<String>,
    over_in_order: VecDeque<String>,
    /// The number of leases by ttl.
    ttls: BTreeMap<Duration, usize>,
}

impl HeldLeases {
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Held> {
        self.held.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Held> {
        self.held.get_mut(id)
    }

    /// A lease that is over stays over, whatever a session reports.
    pub(super) fn is_over(&self, id: &str) -> bool {
        self.over.contains(id)
    }

    pub(super) fn add(&mut self, held: Held) {
        *self.ttls.entry(held.ttl).or_default() += 1;
        self.held.insert(held.state.id.clone(), held);
    }

    pub(super) fn end(&mut self, id: &str) -> Option<Held> {
        let held = self.held.remove(id);
        if let Some(held) = &held {
            self.forget_ttl(held.ttl);
        }
        if self.over.insert(id.to_owned()) {
            self.over_in_order.push_back(id.to_owned());
        }
        if self.over_in_order.len() > MAX_ENDED_LEASES_REMEMBERED
            && let Some(earliest) = self.over_in_order.pop_front()
        {
            self.over.remove(&earliest);
        }
        held
    }

    /// The number of failed attaches in a row, with this one.
    pub(super) fn failed_attach(&mut self, id: &str) -> u32 {
        self.held.get_mut(id).map_or(1, |held| {
            held.failed_attaches += 1;
            held.failed_attaches
        })
    }

    pub(super) fn change_ttl(&mut self, id: &str, ttl: Option<Duration>) {
        let (Some(held), Some(ttl)) = (self.held.get_mut(id), ttl) else {
            return;
        };
        let before = std::mem::replace(&mut held.ttl, ttl);
        if before != ttl {
            *self.ttls.entry(ttl).or_default() += 1;
            self.forget_ttl(before);
        }
    }

    /// None without a lease.
    pub(super) fn shortest_ttl(&self) -> Option<Duration> {
        self.ttls.keys().next().copied()
    }

    /// The time to the nearest deadline. None without a lease.
    pub(super) fn nearest_deadline(&self, now: Time) -> Option<Duration> {
        let nearest = self.held.values().map(|held| held.state.deadline()).min()?;
        Some(now.until(nearest))
    }

    /// The earliest deadline first.
    pub(super) fn by_deadline(&self) -> Vec<Arc<LeaseState>> {
        let mut leases: Vec<(Time, Arc<LeaseState>)> = self
            .held
            .values()
            .map(|held| (held.state.deadline(), held.state.clone()))
            .collect();
        leases.sort_by_key(|&(deadline, _)| deadline);
        leases.into_iter().map(|(_, state)| state).collect()
    }

    fn forget_ttl(&mut self, ttl: Duration) {
        if let Some(count) = self.ttls.get_mut(&ttl) {
            *count -= 1;
            if *count == 0 {
                self.ttls.remove(&ttl);
            }
        }
    }
}
