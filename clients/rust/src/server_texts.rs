//! The texts of servers, in the words of this crate.

/// The names of this crate for the fields and the advice in the texts of a server, and the ids that this
/// crate itself repeats or renews.
const OPTION_NAMES: [(&str, &str); 16] = [
    ("repeat the call with the same request_id", "call again"),
    ("use a new request_id", "call again"),
    (
        "open a second session with another client_id",
        "use a second Client",
    ),
    (" with a new request_id", ""),
    (" with the same lease_id", ""),
    ("update.metadata_update.entries", "metadata"),
    ("wait_timeout", "wait"),
    ("permit_count", "permits"),
    ("initial_limit", "limit"),
    ("expected_limit", "limit"),
    ("page_size", "limit"),
    ("recents_list", "recents"),
    ("acquire_lock.", ""),
    ("acquire_permits.", ""),
    ("start.", ""),
    ("suggest.", ""),
];
/// Before the id of a request.
const WITH_ID: &str = " with request_id ";

/// The text of a server with the names of the options of this crate. What stands in quotes stays.
pub(crate) fn own_names(text: &str) -> String {
    let mut own = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_word = false;
    let mut is_quoted = false;
    while let Some(first) = rest.chars().next() {
        let found = OPTION_NAMES
            .iter()
            .find(|(field, _)| !is_quoted && is_start(field, is_word) && is_whole(rest, field));
        if let Some((field, name)) = found {
            own.push_str(name);
            rest = &rest[field.len()..];
            continue;
        }
        if let (false, Some(id)) = (is_quoted, rest.strip_prefix(WITH_ID)) {
            rest = id.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
            continue;
        }
        is_quoted ^= first == '"' && !own.ends_with('\\');
        is_word = first.is_alphanumeric() || first == '_';
        own.push(first);
        rest = &rest[first.len_utf8()..];
    }
    own
}

/// Whether the field may begin here. `is_word`: a letter, a digit or an underscore is before it.
fn is_start(field: &str, is_word: bool) -> bool {
    field.starts_with(' ') || !is_word
}

/// Whether the text begins with the field. A longer name is another field.
fn is_whole(text: &str, field: &str) -> bool {
    let Some(rest) = text.strip_prefix(field) else {
        return false;
    };
    let next = rest.chars().next();
    field.ends_with('.') == next.is_some_and(|next| next.is_alphanumeric() || next == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_servers_name_the_options() {
        for (text, own) in [
            (
                "acquire_permits.initial_limit is below 0",
                "limit is below 0",
            ),
            ("acquire_lock.ttl is below 100ms", "ttl is below 100ms"),
            ("page_sizes of \"page_size\"", "page_sizes of \"page_size\""),
            ("repeat the call with the same request_id", "call again"),
            ("start. Grüße", "start. Grüße"),
            (
                "has ended; acquire again with a new request_id",
                "has ended; acquire again",
            ),
            ("call again with the same lease_id", "call again"),
            (
                "continue with request_id 0f-1a, at once",
                "continue, at once",
            ),
            ("update.metadata_update.entries has 40", "metadata has 40"),
            (
                "or open a second session with another client_id",
                "or use a second Client",
            ),
        ] {
            assert_eq!(own_names(text), own);
        }
    }
}
