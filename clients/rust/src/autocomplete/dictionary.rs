//! Dictionaries.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use holdfast_proto::holdfast::v1::autocomplete_service_client::AutocompleteServiceClient;
use holdfast_proto::holdfast::v1::{
    CreateDictionaryRequest, DeleteDictionaryRequest, DeleteEntriesRequest, GetDictionaryRequest,
    ImportStart, ListEntriesRequest, PutEntriesRequest, RecordSelectionRequest,
};

use super::entries::{Batch, Entry, MAX_ENTRIES};
use super::import::import;
use super::profile::{DictionaryInfo, DictionaryProfile, ListedEntry};
use super::suggestions::{SuggestOptions, Suggestion, suggestions_of};
use super::type_ahead::TypeAhead;
use crate::calls::{Calls, Limits, pages};
use crate::error::{Error, Result};

/// A put may wait for replicas of the store and for the loading of the entries.
const WRITE: Limits = Limits {
    timeout: Duration::from_secs(120),
    is_idempotent: true,
};

/// A set of entries that all callers share. Each call fails with
/// [`Error::Unavailable`] if no server answers within 10 s.
#[derive(Clone)]
pub struct Dictionary {
    calls: Arc<Calls>,
    name: String,
}

impl Dictionary {
    pub(crate) fn new(calls: Arc<Calls>, name: String) -> Dictionary {
        Dictionary { calls, name }
    }

    /// Creates the dictionary. Without effect if it exists with the same profile.
    ///
    /// # Errors
    ///
    /// [`Error::DictionaryExists`] if the dictionary has another profile.
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

    /// Adds or replaces entries. Queries see each batch of up to 1,000 entries as a whole. A batch has
    /// 120 s.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`]. The batches before the failed one are stored.
    pub async fn put(&self, entries: impl IntoIterator<Item = Entry>) -> Result<()> {
        let mut batch = Batch::default();
        for entry in entries {
            if let Some(full) = batch.add(entry) {
                self.put_batch(full).await?;
            }
        }
        match batch.take() {
            Some(rest) => self.put_batch(rest).await,
            None => Ok(()),
        }
    }

    async fn put_batch(&self, entries: Vec<holdfast_proto::holdfast::v1::Entry>) -> Result<()> {
        let request = PutEntriesRequest {
            dictionary: self.name.clone(),
            entries,
        };
        let call = self
            .calls
            .unary(WRITE, request, |channel, request| async move {
                AutocompleteServiceClient::new(channel)
                    .put_entries(request)
                    .await
            });
        call.await.map(drop)
    }

    /// Deletes entries, in batches of 1,000. Returns the number of entries that existed.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`]. Not repeated after a broken connection.
    pub async fn delete_entries<T>(&self, ids: impl IntoIterator<Item = T>) -> Result<u64>
    where
        T: Into<String>,
    {
        let ids: Vec<String> = ids.into_iter().map(Into::into).collect();
        let mut count = 0;
        for batch in ids.chunks(MAX_ENTRIES) {
            let entry_ids = batch.to_vec();
            let request = DeleteEntriesRequest {
                dictionary: self.name.clone(),
                entry_ids,
            };
            let call = self
                .calls
                .unary(Limits::ONCE, request, |channel, request| async move {
                    AutocompleteServiceClient::new(channel)
                        .delete_entries(request)
                        .await
                });
            count += u64::try_from(call.await?.deleted_count).unwrap_or(0);
        }
        Ok(count)
    }

    /// Replaces all entries in one step. Reads the entries as fast as the server takes them, so that
    /// they need not fit into memory. Has no time limit. Dropping the future changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::ImportConflict`] if another import was committed first. An import that fails changes
    /// nothing.
    pub async fn import(
        &self,
        entries: impl IntoIterator<Item = Entry>,
        profile: DictionaryProfile,
    ) -> Result<DictionaryInfo> {
        self.try_import(
            stream::iter(entries.into_iter().map(Ok::<_, Error>)),
            profile,
        )
        .await
    }

    /// As [`import`](Dictionary::import), from a stream that can fail. An error of the stream ends the
    /// import, and nothing changes.
    ///
    /// # Errors
    ///
    /// The errors of the stream, and those of [`import`](Dictionary::import).
    pub async fn try_import<S, E>(
        &self,
        entries: S,
        profile: DictionaryProfile,
    ) -> Result<DictionaryInfo, E>
    where
        S: Stream<Item = Result<Entry, E>>,
        E: From<Error>,
    {
        let profile = Some(profile.message());
        let start = ImportStart {
            dictionary: self.name.clone(),
            profile,
        };
        import(&self.calls, start, entries)
            .await
            .map(DictionaryInfo::of)
    }

    /// Suggestions for a query.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`].
    pub async fn suggest(&self, query: &str) -> Result<Vec<Suggestion>> {
        self.suggest_with(query, &SuggestOptions::new()).await
    }

    /// As [`suggest`](Dictionary::suggest), with options.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`].
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

    /// Suggestions while somebody types. Nothing is sent before the first query.
    pub fn type_ahead(&self, options: SuggestOptions) -> TypeAhead {
        TypeAhead::new(self.calls.clone(), self.name.clone(), options)
    }

    /// Counts selections of an entry, which raise its score. Returns false if there is no such entry.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`]. Not repeated after a broken connection.
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

    /// All entries in the order of their texts, page by page.
    pub fn entries(&self) -> impl Stream<Item = Result<ListedEntry>> + Send + use<> {
        let (calls, dictionary) = (self.calls.clone(), self.name.clone());
        pages(move |page_token| {
            let (calls, dictionary) = (calls.clone(), dictionary.clone());
            async move {
                let request = ListEntriesRequest {
                    dictionary,
                    page_size: 500,
                    page_token,
                    ..Default::default()
                };
                let call = calls.unary(Limits::default(), request, |channel, request| async move {
                    AutocompleteServiceClient::new(channel)
                        .list_entries(request)
                        .await
                });
                let page = call.await?;
                let listed = page.entries.into_iter().filter_map(|one| {
                    let entry = Entry::of(one.entry?);
                    Some(ListedEntry {
                        entry,
                        selection_count: one.selection_count,
                    })
                });
                Ok((listed.collect(), page.next_page_token))
            }
        })
    }

    /// Size and generation of the dictionary.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDictionary`].
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
    /// [`Error::NotAllowed`] if the policy of the server refuses the call.
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
