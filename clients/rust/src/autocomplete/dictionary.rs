//! Dictionaries.

use std::sync::Arc;

use futures_util::Stream;
use holdfast_proto::holdfast::v1::autocomplete_service_client::AutocompleteServiceClient;
use holdfast_proto::holdfast::v1::{
    CreateDictionaryRequest, DeleteDictionaryRequest, GetDictionaryRequest, RecordSelectionRequest,
    SuggestRequest,
};

use super::profile::{DictionaryInfo, DictionaryProfile};
use super::suggestions::{SuggestOptions, Suggestion, suggestions_of};
use super::type_ahead::TypeAhead;
use crate::calls::{Calls, Limits, pages};
use crate::error::Result;

/// The most suggestions of one page.
const MAX_PAGE: i32 = 100;

/// A set of entries that all callers share. Each call fails with
/// [`Error::Unavailable`](crate::Error::Unavailable) if no server answers within 10 s.
#[derive(Clone)]
pub struct Dictionary {
    pub(super) calls: Arc<Calls>,
    pub(super) name: String,
}

impl Dictionary {
    pub(crate) fn new(calls: Arc<Calls>, name: String) -> Dictionary {
        Dictionary { calls, name }
    }

    /// Creates the dictionary. Without effect if it exists with the same profile.
    ///
    /// # Errors
    ///
    /// [`Error::DictionaryExists`](crate::Error::DictionaryExists) if the dictionary has another profile.
    pub async fn create(&self, profile: DictionaryProfile) -> Result<()> {
        let profile = Some(profile.message());
        let request = CreateDictionaryRequest {
            dictionary: self.name.clone(),
            profile,
        };
        let call = self
            .calls
            .unary(Limits::default(), request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .create_dictionary(request)
                    .await
            });
        call.await.map(drop)
    }

    /// Suggestions for a query.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`](crate::Error::NoSuchDictionary).
    pub async fn suggest(&self, query: &str) -> Result<Vec<Suggestion>> {
        self.suggest_with(query, &SuggestOptions::new()).await
    }

    /// As [`suggest`](Dictionary::suggest), with options.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`](crate::Error::NoSuchDictionary).
    pub async fn suggest_with(
        &self,
        query: &str,
        options: &SuggestOptions,
    ) -> Result<Vec<Suggestion>> {
        let request = options.request(&self.name, query);
        let call = self
            .calls
            .unary(Limits::default(), request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .suggest(request)
                    .await
            });
        Ok(suggestions_of(call.await?.suggestions))
    }

    /// All suggestions for a query, the best first, page by page. [`SuggestOptions::limit`] is the size of a
    /// page, by default 100. The stream ends after an error.
    pub fn suggest_all(
        &self,
        query: &str,
        options: &SuggestOptions,
    ) -> impl Stream<Item = Result<Suggestion>> + Send + use<> {
        let calls = self.calls.clone();
        let mut first = options.request(&self.name, query);
        if first.page_size == 0 {
            first.page_size = MAX_PAGE;
        }
        pages(move |page_token| {
            let calls = calls.clone();
            let request = SuggestRequest {
                page_token,
                ..first.clone()
            };
            async move {
                let call = calls.unary(Limits::default(), request, |channel, request| async move {
                    AutocompleteServiceClient::new(channel)
                        .suggest(request)
                        .await
                });
                let page = call.await?;
                Ok((suggestions_of(page.suggestions), page.next_page_token))
            }
        })
    }

    /// Suggestions while somebody types. Nothing is sent before the first query.
    pub fn type_ahead(&self, options: SuggestOptions) -> TypeAhead {
        TypeAhead::new(self.calls.clone(), self.name.clone(), options)
    }

    /// Counts selections of an entry, which raise its score. Returns false if there is no such entry.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`](crate::Error::NoSuchDictionary). Not repeated after a broken connection.
    pub async fn record_selection(&self, entry_id: impl Into<String>, count: u32) -> Result<bool> {
        let request = RecordSelectionRequest {
            dictionary: self.name.clone(),
            entry_id: entry_id.into(),
            count: Some(i32::try_from(count).unwrap_or(i32::MAX)),
        };
        let call = self
            .calls
            .unary(Limits::ONCE, request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .record_selection(request)
                    .await
            });
        Ok(call.await?.recorded)
    }

    /// Size and generation of the dictionary.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`](crate::Error::NoSuchDictionary).
    pub async fn info(&self) -> Result<DictionaryInfo> {
        let request = GetDictionaryRequest {
            dictionary: self.name.clone(),
        };
        let call = self
            .calls
            .unary(Limits::default(), request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .get_dictionary(request)
                    .await
            });
        Ok(DictionaryInfo::of(
            call.await?.dictionary.unwrap_or_default(),
        ))
    }

    /// Deletes the dictionary with all entries. Returns false if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) if the policy of the server refuses the call.
    pub async fn delete(&self) -> Result<bool> {
        let request = DeleteDictionaryRequest {
            dictionary: self.name.clone(),
        };
        let call = self
            .calls
            .unary(Limits::default(), request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .delete_dictionary(request)
                    .await
            });
        Ok(call.await?.deleted)
    }
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
