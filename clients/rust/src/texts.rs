//! Texts of callers, which go into the messages of a session.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::failure::Failure;
use crate::numbers::MAX_TEXT_BYTES;

/// An error if no message can have the text.
pub(crate) fn check_text(field: &str, text: &str) -> Result<(), Error> {
    check_size(field, text.len())
}

/// An error if no message can have the metadata.
pub(crate) fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), Error> {
    let sizes = metadata.iter().map(|(key, value)| key.len() + value.len());
    check_size("metadata", sizes.sum())
}

fn check_size(field: &str, size: usize) -> Result<(), Error> {
    if size <= MAX_TEXT_BYTES {
        return Ok(());
    }
    let text = format!("is {size} bytes; a message has at most {MAX_TEXT_BYTES}");
    Err(Failure::of_option(field, &text).into())
}
