//! Texts of callers, which go into the messages of a session.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::failure::Failure;
use crate::numbers::MAX_MESSAGE_BYTES;

/// The longest text of a command, and the longest texts of its metadata together. The server allows
/// far less, and says so. A message beyond the server's bound would end the session of all leases.
const MAX_TEXT_BYTES: usize = MAX_MESSAGE_BYTES / 10;

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
