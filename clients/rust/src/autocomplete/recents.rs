//! The latest choices of one user.

use std::sync::Arc;

use holdfast_proto::holdfast::v1::autocomplete_service_client::AutocompleteServiceClient;
use holdfast_proto::holdfast::v1::{
    AddRecentRequest, DeleteRecentsRequest, RemoveRecentRequest, SuggestRecentsRequest,
};

use super::suggestions::{SuggestOptions, Suggestion, suggestions_of};
use crate::calls::{Calls, Limits};
use crate::error::Result;

/// A text that a user has chosen.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Recent {
    text: String,
    entry_id: String,
    payload: Vec<u8>,
    capacity: Option<u32>,
}

impl Recent {
    /// A text without an entry.
    pub fn new(text: impl Into<String>) -> Recent {
        Recent {
            text: text.into(),
            ..Recent::default()
        }
    }

    /// The entry that the text stands for.
    pub fn entry_id(mut self, id: impl Into<String>) -> Recent {
        self.entry_id = id.into();
        self
    }

    /// Data for the program that shows the text: at most 1 KiB.
    pub fn payload(mut self, payload: impl Into<Vec<u8>>) -> Recent {
        self.payload = payload.into();
        self
    }

    /// The number of texts that the list keeps from now on. Default: 100. Range: 1 to 1000.
    pub fn capacity(mut self, capacity: u32) -> Recent {
        self.capacity = Some(capacity);
        self
    }
}

impl From<&str> for Recent {
    fn from(text: &str) -> Recent {
        Recent::new(text)
    }
}

impl From<String> for Recent {
    fn from(text: String) -> Recent {
        Recent::new(text)
    }
}

/// The latest choices of one user.
#[derive(Clone)]
pub struct Recents {
    calls: Arc<Calls>,
    list: String,
}

impl Recents {
    pub(crate) fn new(calls: Arc<Calls>, list: String) -> Recents {
        Recents { calls, list }
    }

    /// Puts a text at the front of the list.
    ///
    /// # Errors
    ///
    /// As every call: [`Error::Unavailable`](crate::Error::Unavailable) if no server answers within
    /// 10 s, and [`Error::InvalidRequest`](crate::Error::InvalidRequest) for a wrong field.
    pub async fn add(&self, recent: impl Into<Recent>) -> Result<()> {
        let Recent {
            text,
            entry_id,
            payload,
            capacity,
        } = recent.into();
        let capacity = capacity.map(|one| i32::try_from(one).unwrap_or(i32::MAX));
        let list = self.list.clone();
        let request = AddRecentRequest {
            list,
            text,
            entry_id,
            payload,
            capacity,
        };
        let call = self
            .calls
            .unary(Limits::default(), request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .add_recent(request)
                    .await
            });
        call.await.map(drop)
    }

    /// Returns false if the list does not have the text.
    ///
    /// # Errors
    ///
    /// As [`add`](Recents::add).
    pub async fn remove(&self, text: impl Into<String>) -> Result<bool> {
        let (list, entry_id) = (self.list.clone(), String::new());
        let request = RemoveRecentRequest {
            list,
            entry_id,
            text: text.into(),
        };
        let call = self
            .calls
            .unary(Limits::default(), request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .remove_recent(request)
                    .await
            });
        Ok(call.await?.removed)
    }

    /// The latest matching texts. An empty query gives the latest texts.
    ///
    /// # Errors
    ///
    /// As [`add`](Recents::add).
    pub async fn suggest(&self, query: &str) -> Result<Vec<Suggestion>> {
        self.suggest_with(query, &SuggestOptions::new()).await
    }

    /// As [`suggest`](Recents::suggest), with options.
    ///
    /// # Errors
    ///
    /// As [`add`](Recents::add).
    pub async fn suggest_with(
        &self,
        query: &str,
        options: &SuggestOptions,
    ) -> Result<Vec<Suggestion>> {
        let request = SuggestRecentsRequest {
            list: self.list.clone(),
            query: query.to_owned(),
            page_size: options.page_size(),
            match_kinds: options.kind_codes(),
        };
        let call = self
            .calls
            .unary(Limits::default(), request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .suggest_recents(request)
                    .await
            });
        Ok(suggestions_of(call.await?.suggestions))
    }

    /// Deletes the whole list. Returns false if there is none.
    ///
    /// # Errors
    ///
    /// As [`add`](Recents::add).
    pub async fn delete(&self) -> Result<bool> {
        let request = DeleteRecentsRequest {
            list: self.list.clone(),
        };
        let call = self
            .calls
            .unary(Limits::default(), request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .delete_recents(request)
                    .await
            });
        Ok(call.await?.deleted)
    }
}

impl std::fmt::Debug for Recents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recents")
            .field("list", &self.list)
            .finish_non_exhaustive()
    }
}
