//! What a dictionary is like.

use holdfast_proto::holdfast::v1::{AccentHandling, Dictionary as Message, Profile, TypoMatching};

use super::entries::Entry;

/// How a dictionary matches. Fixed when the dictionary is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct DictionaryProfile {
    keeps_accents: bool,
    matches_typos: bool,
}

impl Default for DictionaryProfile {
    fn default() -> DictionaryProfile {
        DictionaryProfile {
            keeps_accents: true,
            matches_typos: true,
        }
    }
}

impl DictionaryProfile {
    /// Accents are kept, and typos match.
    pub fn new() -> DictionaryProfile {
        DictionaryProfile::default()
    }

    /// "e" matches "é".
    pub fn drop_accents(mut self) -> DictionaryProfile {
        self.keeps_accents = false;
        self
    }

    /// Texts with typos do not match.
    pub fn without_typos(mut self) -> DictionaryProfile {
        self.matches_typos = false;
        self
    }

    pub(super) fn message(self) -> Profile {
        let accents = match self.keeps_accents {
            true => AccentHandling::Kept,
            false => AccentHandling::Dropped,
        };
        let typos = match self.matches_typos {
            true => TypoMatching::On,
            false => TypoMatching::Off,
        };
        Profile {
            accents: accents.into(),
            typo_matching: typos.into(),
        }
    }
}

/// What a server says about a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DictionaryInfo {
    /// The name of the dictionary.
    pub name: String,
    /// The number of entries.
    pub entry_count: i64,
    /// The memory of the dictionary in the store, in bytes.
    pub memory_bytes: i64,
    /// Rises with each import.
    pub generation: i64,
}

impl DictionaryInfo {
    pub(super) fn of(message: Message) -> DictionaryInfo {
        let Message {
            name,
            entry_count,
            memory_bytes,
            generation,
            ..
        } = message;
        DictionaryInfo {
            name,
            entry_count,
            memory_bytes,
            generation,
        }
    }
}

/// An entry with the number of its selections.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedEntry {
    /// The entry.
    pub entry: Entry,
    /// How often the entry was selected.
    pub selection_count: i64,
}
