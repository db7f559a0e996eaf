//! Shows suggestions for each line of stdin: the text of an input field after one more key. With a
//! file it imports the dictionary first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use futures_util::stream::{FuturesUnordered, StreamExt};
use holdfast_client::{Dictionary, DictionaryProfile, Entry, SuggestOptions, TypeAhead};
use holdfast_examples::{exit, millis};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio_stream::wrappers::LinesStream;

#[derive(Parser)]
struct Args {
    /// The name of the dictionary
    dictionary: String,
    /// The addresses of the servers, with commas
    #[arg(long, default_value = "127.0.0.1:50051")]
    servers: String,
    /// A file: its lines replace all entries of the dictionary
    #[arg(long)]
    import: Option<PathBuf>,
    /// The pause after a key before the query is sent
    #[arg(long, default_value = "30", value_parser = millis)]
    debounce_ms: Duration,
}

#[tokio::main]
async fn main() {
    exit(run(&Args::parse()).await)
}

async fn run(args: &Args) -> Result<()> {
    let hf = holdfast_client::connect(&args.servers).await?;
    let dictionary = hf.dictionary(&args.dictionary);
    if let Some(file) = &args.import {
        import_lines(&dictionary, file).await?;
    }
    let field = dictionary
        .type_ahead(SuggestOptions::new().limit(5))
        .debounce(args.debounce_ms);
    let result = complete(&field).await;
    hf.close().await;
    result
}

/// Replaces all entries by the lines of a file, which is never in memory as a whole.
async fn import_lines(dictionary: &Dictionary, file: &Path) -> Result<()> {
    let mut count = 0;
    let lines = LinesStream::new(BufReader::new(File::open(file).await?).lines());
    let entries = lines.filter_map(|line| {
        let entry = line.map(|text| Entry::new(text.clone(), text));
        std::future::ready(match entry {
            Ok(entry) if entry.text.trim().is_empty() => None,
            entry => {
                count += 1;
                Some(entry.map_err(anyhow::Error::from))
            }
        })
    });
    dictionary
        .try_import(entries, DictionaryProfile::new())
        .await?;
    println!("imported {count} entries");
    Ok(())
}

async fn complete(field: &TypeAhead) -> Result<()> {
    let mut lines = BufReader::new(stdin()).lines();
    let mut shown = FuturesUnordered::new();
    let mut is_typing = true;
    while is_typing || !shown.is_empty() {
        tokio::select! {
            biased; // A query begins when it is first polled: before the next line is read.
            Some(result) = shown.next() => result?,
            line = lines.next_line(), if is_typing => match line? {
                Some(text) => shown.push(show(field, text)),
                None => is_typing = false,
            },
        }
    }
    Ok(())
}

async fn show(field: &TypeAhead, text: String) -> Result<()> {
    if let Some(found) = field.suggest(&text).await? {
        // None: a newer query has superseded it
        let texts: Vec<_> = found.iter().map(|one| one.text.as_str()).collect();
        let texts = if texts.is_empty() {
            "nothing".into()
        } else {
            texts.join(", ")
        };
        println!("{text}: {texts}");
    }
    Ok(())
}
