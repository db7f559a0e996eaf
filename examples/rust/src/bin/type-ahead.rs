//! Shows suggestions for each line of stdin: the text of an input field after one more key. With a
//! file it imports the dictionary first.

use std::future::ready;
use std::path::Path;

use anyhow::{Error, Result};
use clap::Parser;
use futures_util::{Stream, TryStreamExt};
use holdfast_client::{Entry, SuggestOptions, TypeAhead};
use holdfast_examples::{TypeAheadArgs, exit};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, stdin};
use tokio_stream::wrappers::LinesStream;

#[tokio::main]
async fn main() {
    exit(run(&TypeAheadArgs::parse()).await)
}

async fn run(args: &TypeAheadArgs) -> Result<()> {
    let hf = holdfast_client::connect(&args.dictionary.servers).await?;
    let dictionary = hf.dictionary(&args.dictionary.name);
    if let Some(file) = &args.import {
        let info = dictionary.try_import(entries(file).await?, None).await?;
        println!("imported {} entries", info.entry_count);
    }
    let options = SuggestOptions::new().limit(5);
    let field = dictionary.type_ahead(options).debounce(args.debounce_ms);
    // Begins each query before it reads the next line.
    let shown = lines(stdin()).try_for_each_concurrent(None, |text| show(&field, text));
    let result = shown.await;
    hf.close().await;
    result
}

/// The lines of a file, which is never in memory as a whole.
async fn entries(file: &Path) -> Result<impl Stream<Item = Result<Entry>> + use<>> {
    let texts = lines(File::open(file).await?).try_filter(|text| ready(!text.trim().is_empty()));
    Ok(texts.map_ok(|text| Entry::new(text.clone(), text)))
}

fn lines(source: impl AsyncRead) -> impl Stream<Item = Result<String>> {
    LinesStream::new(BufReader::new(source).lines()).map_err(Error::from)
}

async fn show(field: &TypeAhead, text: String) -> Result<()> {
    let Some(found) = field.suggest(&text).await? else {
        return Ok(()); // a newer query has superseded this query
    };
    let texts: Vec<_> = found.iter().map(|one| one.text.as_str()).collect();
    let shown = if texts.is_empty() {
        "nothing".into()
    } else {
        texts.join(", ")
    };
    println!("{text}: {shown}");
    Ok(())
}
