//! The entries of dictionaries: puts, deletes, imports and lists.

use futures_util::{Stream, stream};
use holdfast_proto::holdfast::v1::autocomplete_service_client::AutocompleteServiceClient;
use holdfast_proto::holdfast::v1::{
    DeleteEntriesRequest, ImportStart, ListEntriesRequest, PutEntriesRequest,
};

use super::dictionary::Dictionary;
use super::entries::{Batch, Entry};
use super::import::import;
use super::profile::{DictionaryInfo, DictionaryProfile, ListedEntry};
use crate::calls::{Limits, pages};
use crate::error::{Error, Result};
use crate::numbers::{MAX_ENTRIES_IN_MESSAGE, PAGE_SIZE, PUT};

const WRITE: Limits = Limits {
    timeout: PUT,
    is_idempotent: true,
};

impl Dictionary {
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
        for batch in ids.chunks(MAX_ENTRIES_IN_MESSAGE) {
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
    /// they need not fit into memory. Has no time limit. Dropping the future changes nothing. Without a
    /// profile the dictionary keeps its profile, and a new dictionary has the defaults.
    ///
    /// # Errors
    ///
    /// [`Error::ImportConflict`] if another import was committed first, and [`Error::DictionaryExists`] if
    /// the dictionary has another profile. An import that fails changes nothing.
    pub async fn import(
        &self,
        entries: impl IntoIterator<Item = Entry>,
        profile: impl Into<Option<DictionaryProfile>>,
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
        profile: impl Into<Option<DictionaryProfile>>,
    ) -> Result<DictionaryInfo, E>
    where
        S: Stream<Item = Result<Entry, E>>,
        E: From<Error>,
    {
        let start = ImportStart {
            dictionary: self.name.clone(),
            profile: profile.into().map(DictionaryProfile::message),
        };
        import(&self.calls, start, entries)
            .await
            .map(DictionaryInfo::of)
    }

    /// All entries in the order of their texts, page by page.
    pub fn entries(&self) -> impl Stream<Item = Result<ListedEntry>> + Send + use<> {
        let (calls, dictionary) = (self.calls.clone(), self.name.clone());
        pages(move |page_token| {
            let (calls, dictionary) = (calls.clone(), dictionary.clone());
            async move {
                let request = ListEntriesRequest {
                    dictionary,
                    page_size: PAGE_SIZE,
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
}
