//! The timers of the engine. The driver asks for the next one.

use std::collections::BTreeMap;

use crate::clock::Time;

/// Names a timer, so that the timer can be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TimerKey(Time, u64);

#[derive(Debug)]
pub(super) struct Timers<T> {
    timers: BTreeMap<TimerKey, T>,
    count: u64,
}

impl<T> Timers<T> {
    pub(super) fn new() -> Timers<T> {
        Timers {
            timers: BTreeMap::new(),
            count: 0,
        }
    }

    pub(super) fn add(&mut self, at: Time, timer: T) -> TimerKey {
        self.count += 1;
        let key = TimerKey(at, self.count);
        self.timers.insert(key, timer);
        key
    }

    /// Without effect if the timer has fired.
    pub(super) fn remove(&mut self, key: Option<TimerKey>) {
        if let Some(key) = key {
            self.timers.remove(&key);
        }
    }

    /// The next timer that is due.
    pub(super) fn due(&mut self, now: Time) -> Option<T> {
        let entry = self.timers.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.timers.first_key_value().map(|(key, _)| key.0)
    }

    pub(super) fn clear(&mut self) {
        self.timers.clear();
    }
}
