//! Suggestions.

use std::time::Duration;

use holdfast_proto::holdfast::v1::{
    self as proto, MatchKind as Kind, SuggestRequest, Suggestion as Message,
};

use crate::clock::message_span;

/// How a query matches a text, in the order of rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MatchKind {
    /// The query is the text.
    Exact,
    /// The text begins with the query.
    Prefix,
    /// A word of the text begins with the query.
    WordPrefix,
    /// The text ends with the query.
    Suffix,
    /// The text contains the query.
    Contains,
    /// The text matches after one or two typos.
    Typo,
    /// A kind that only a newer server knows.
    Unrecognized,
}

impl MatchKind {
    fn of(code: i32) -> MatchKind {
        match Kind::try_from(code) {
            Ok(Kind::Exact) => MatchKind::Exact,
            Ok(Kind::Prefix) => MatchKind::Prefix,
            Ok(Kind::WordPrefix) => MatchKind::WordPrefix,
            Ok(Kind::Suffix) => MatchKind::Suffix,
            Ok(Kind::Contains) => MatchKind::Contains,
            Ok(Kind::Typo) => MatchKind::Typo,
            Ok(Kind::Unspecified) | Err(_) => MatchKind::Unrecognized,
        }
    }

    fn code(self) -> i32 {
        let kind = match self {
            MatchKind::Exact => Kind::Exact,
            MatchKind::Prefix => Kind::Prefix,
            MatchKind::WordPrefix => Kind::WordPrefix,
            MatchKind::Suffix => Kind::Suffix,
            MatchKind::Contains => Kind::Contains,
            MatchKind::Typo => Kind::Typo,
            MatchKind::Unrecognized => Kind::Unspecified,
        };
        kind.into()
    }
}

/// A part of a suggested text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment {
    /// The text of the part.
    pub text: String,
    /// Whether the query matches this part.
    pub is_matched: bool,
}

/// A suggested text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suggestion {
    /// Empty for a recent without an entry.
    pub entry_id: String,
    /// The whole text.
    pub text: String,
    /// The parts of the text in order.
    pub segments: Vec<Segment>,
    /// Data for the program that shows the entry.
    pub payload: Vec<u8>,
    /// How the query matches.
    pub match_kind: MatchKind,
    /// A greater score ranks earlier.
    pub score: i64,
    /// Whether the text comes from the caller's list of recents.
    pub is_recent: bool,
}

pub(super) fn suggestions_of(messages: Vec<Message>) -> Vec<Suggestion> {
    let segment = |one: proto::Segment| Segment {
        text: one.text,
        is_matched: one.matched,
    };
    let suggestion = |one: Message| Suggestion {
        entry_id: one.entry_id,
        text: one.text,
        segments: one.segments.into_iter().map(segment).collect(),
        payload: one.payload,
        match_kind: MatchKind::of(one.match_kind),
        score: one.score,
        is_recent: one.recent,
    };
    messages.into_iter().map(suggestion).collect()
}

/// What to suggest.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SuggestOptions {
    limit: u32,
    match_kinds: Vec<MatchKind>,
    recents: String,
    max_staleness: Option<Duration>,
}

impl SuggestOptions {
    /// Up to 10 suggestions of all kinds.
    pub fn new() -> SuggestOptions {
        SuggestOptions::default()
    }

    /// The number of suggestions. Default: 10. Maximum: 100.
    pub fn limit(mut self, limit: u32) -> SuggestOptions {
        self.limit = limit;
        self
    }

    /// Only these kinds of matches. Default: all kinds.
    pub fn match_kinds(mut self, kinds: impl IntoIterator<Item = MatchKind>) -> SuggestOptions {
        self.match_kinds = kinds.into_iter().collect();
        self
    }

    /// The caller's list of recents, which rank first. Without effect in a query of recents.
    pub fn recents(mut self, list: impl Into<String>) -> SuggestOptions {
        self.recents = list.into();
        self
    }

    /// How old the answer may be. Default: 0. Maximum: 1 hour. Without effect in a query of recents.
    pub fn max_staleness(mut self, time: Duration) -> SuggestOptions {
        self.max_staleness = Some(time);
        self
    }

    pub(super) fn page_size(&self) -> i32 {
        i32::try_from(self.limit).unwrap_or(i32::MAX)
    }

    pub(super) fn kind_codes(&self) -> Vec<i32> {
        self.match_kinds.iter().map(|kind| kind.code()).collect()
    }

    pub(super) fn request(&self, dictionary: &str, query: &str) -> SuggestRequest {
        SuggestRequest {
            dictionary: dictionary.to_owned(),
            query: query.to_owned(),
            page_size: self.page_size(),
            page_token: String::new(),
            match_kinds: self.kind_codes(),
            recents_list: self.recents.clone(),
            max_staleness: self.max_staleness.map(message_span),
        }
    }
}
