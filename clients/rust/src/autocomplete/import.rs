//! Imports: one stream with a start, batches and a commit. Without the commit nothing changes.

use futures_util::{Stream, StreamExt, stream};
use holdfast_proto::holdfast::v1::autocomplete_service_client::AutocompleteServiceClient;
use holdfast_proto::holdfast::v1::import_dictionary_request::Part;
use holdfast_proto::holdfast::v1::{
    Dictionary, Entry as Message, ImportBatch, ImportCommit, ImportDictionaryRequest, ImportStart,
};
use tokio::sync::mpsc;
use tonic::Code;

use super::entries::{Batch, Entry};
use crate::calls::Calls;
use crate::connection::authorized;
use crate::error::{Error, Result};
use crate::failure::Failure;

/// Reads the entries as fast as the server takes them.
pub(super) async fn import<S, E>(
    calls: &Calls,
    start: ImportStart,
    entries: S,
) -> Result<Dictionary, E>
where
    S: Stream<Item = Result<Entry, E>>,
    E: From<Error>,
{
    let line = calls.line().await?;
    // One batch waits while the server reads the one before.
    let (parts, receiver) = mpsc::channel(1);
    let requests = stream::unfold(receiver, |mut receiver| async move {
        Some((receiver.recv().await?, receiver))
    });
    let request = authorized(requests, calls.bearer().await?.as_ref());
    let mut stub = AutocompleteServiceClient::new(line.channel.clone());
    let answer = calls.until_closed(async {
        match stub.import_dictionary(request).await {
            Ok(response) => Ok(response.into_inner()),
            Err(status) => Err(Error::of_status(&status)),
        }
    });
    let sent = send(parts, start, entries);
    tokio::pin!(answer, sent);
    let mut is_sent = false;
    let answer = loop {
        tokio::select! {
            // After an early answer the source is not read any more.
            answer = &mut answer => break answer,
            // An error of the source drops the call, which cancels the import.
            result = &mut sent, if !is_sent => {
                result?;
                is_sent = true;
            }
        }
    };
    if let Err(error) = &answer {
        calls.failed(&line, error);
    }
    answer?.dictionary.ok_or_else(|| {
        let text = "the answer to the import has no dictionary";
        Error::from(Failure::new("", Code::Internal, text)).into()
    })
}

async fn send<S, E>(
    parts: mpsc::Sender<ImportDictionaryRequest>,
    start: ImportStart,
    entries: S,
) -> Result<(), E>
where
    S: Stream<Item = Result<Entry, E>>,
{
    let mut entry_count = 0;
    let mut batch = Batch::default();
    let mut open = put(&parts, Part::Start(start)).await;
    tokio::pin!(entries);
    while open && let Some(entry) = entries.next().await {
        if let Some(full) = batch.add(entry?) {
            open = put_batch(&parts, full, &mut entry_count).await;
        }
    }
    if let Some(rest) = batch.take() {
        put_batch(&parts, rest, &mut entry_count).await;
    }
    put(&parts, Part::Commit(ImportCommit { entry_count })).await;
    Ok(())
}

async fn put_batch(
    parts: &mpsc::Sender<ImportDictionaryRequest>,
    entries: Vec<Message>,
    entry_count: &mut i64,
) -> bool {
    *entry_count += entries.len() as i64;
    put(parts, Part::Batch(ImportBatch { entries })).await
}

/// False: the call is over, and its answer says more.
async fn put(parts: &mpsc::Sender<ImportDictionaryRequest>, part: Part) -> bool {
    parts
        .send(ImportDictionaryRequest { part: Some(part) })
        .await
        .is_ok()
}
