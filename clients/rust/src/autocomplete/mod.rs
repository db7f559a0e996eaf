//! Recents and dictionaries.

mod dictionary;
mod dictionary_entries;
mod entries;
mod import;
mod profile;
mod queries;
mod recents;
mod suggestions;
mod type_ahead;

pub use dictionary::Dictionary;
pub use entries::Entry;
pub use profile::{DictionaryInfo, DictionaryProfile, ListedEntry};
pub use recents::{Recent, Recents};
pub use suggestions::{MatchKind, Segment, SuggestOptions, Suggestion};
pub use type_ahead::TypeAhead;
