//! Entries of dictionaries, and batches of them.

use holdfast_proto::holdfast::v1::Entry as Message;
use prost::Message as _;

use crate::numbers::{MAX_ENTRIES_IN_MESSAGE, MAX_ENTRY_BYTES_IN_MESSAGE};

/// An entry of a dictionary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// 1 to 512 bytes.
    pub id: String,
    /// The text that is shown and searched: 1 to 512 bytes.
    pub text: String,
    /// Other texts that find the entry.
    pub aliases: Vec<String>,
    /// A greater weight ranks earlier. Default: 0.
    pub weight: i64,
    /// Data for the program that shows the entry: at most 1 KiB.
    pub payload: Vec<u8>,
}

impl Entry {
    /// An entry without aliases and weight.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Entry {
        Entry {
            id: id.into(),
            text: text.into(),
            ..Entry::default()
        }
    }

    /// Another text that finds the entry.
    #[must_use]
    pub fn alias(mut self, text: impl Into<String>) -> Entry {
        self.aliases.push(text.into());
        self
    }

    /// A greater weight ranks earlier.
    #[must_use]
    pub fn weight(self, weight: i64) -> Entry {
        Entry { weight, ..self }
    }

    /// Data for the program that shows the entry: at most 1 KiB.
    #[must_use]
    pub fn payload(self, payload: impl Into<Vec<u8>>) -> Entry {
        Entry {
            payload: payload.into(),
            ..self
        }
    }

    pub(super) fn message(self) -> Message {
        let Entry {
            id,
            text,
            aliases,
            weight,
            payload,
        } = self;
        Message {
            entry_id: id,
            text,
            aliases,
            weight,
            payload,
        }
    }

    pub(super) fn of(message: Message) -> Entry {
        let Message {
            entry_id,
            text,
            aliases,
            weight,
            payload,
        } = message;
        Entry {
            id: entry_id,
            text,
            aliases,
            weight,
            payload,
        }
    }
}

/// Collects entries that fit into a message. At most one batch is in memory.
#[derive(Default)]
pub(super) struct Batch {
    entries: Vec<Message>,
    bytes: usize,
}

impl Batch {
    /// Adds an entry. Returns the entries before it if they fill a message.
    pub(super) fn add(&mut self, entry: Entry) -> Option<Vec<Message>> {
        let message = entry.message();
        let size = message.encoded_len() + 8;
        let is_full = self.entries.len() >= MAX_ENTRIES_IN_MESSAGE
            || self.bytes + size > MAX_ENTRY_BYTES_IN_MESSAGE;
        let full = if is_full { self.take() } else { None };
        self.bytes += size;
        self.entries.push(message);
        full
    }

    /// The entries that are left. None: there are none.
    pub(super) fn take(&mut self) -> Option<Vec<Message>> {
        self.bytes = 0;
        let entries = std::mem::take(&mut self.entries);
        (!entries.is_empty()).then_some(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_keeps_the_bounds_of_a_message() {
        let mut batch = Batch::default();
        let mut full = Vec::new();
        for number in 0..2500 {
            full.extend(batch.add(Entry::new(number.to_string(), "text")));
        }
        full.extend(batch.take());
        assert_eq!(
            full.iter().map(Vec::len).collect::<Vec<_>>(),
            [1000, 1000, 500]
        );

        let large = Entry::new("1", "text").payload(vec![0; 2 << 20]);
        assert!(batch.add(large.clone()).is_none());
        assert_eq!(batch.add(large).map(|batch| batch.len()), Some(1));
    }
}
