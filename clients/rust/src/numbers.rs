//! The times, bounds and reasons that all clients of Holdfast share. A test compares them with
//! `clients/numbers.json`.

use std::time::Duration;

/// The time between two heartbeats, until a response changes it.
pub(crate) const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(5000);
/// The longest silence of the server, unless its first response says otherwise.
pub(crate) const HEARTBEAT_TIMEOUT: Duration = Duration::from_millis(15_000);
/// A short ttl needs earlier heartbeats.
pub(crate) const HEARTBEATS_PER_TTL: u32 = 6;
/// A client leaves a silent server after this part of the shortest ttl. The rest is left for the attach.
pub(crate) const SILENCE_IS_TTL_DIVIDED_BY: u32 = 4;
/// The longest wait for the first response, because a new connection may lead nowhere.
pub(crate) const FIRST_ANSWER: Duration = Duration::from_millis(5000);
/// Before the first session, the addresses share the time of connect. Each has at least this time.
pub(crate) const SHORTEST_FIRST_ANSWER: Duration = Duration::from_millis(1000);
/// The longest random pause before the session after a break.
pub(crate) const LONGEST_PAUSE_AFTER_BREAK: Duration = Duration::from_millis(1000);
/// The pause is at most this part of the time to the nearest deadline.
pub(crate) const PAUSE_AFTER_BREAK_IS_DEADLINE_DIVIDED_BY: u32 = 10;
/// The next session is opened after this share of the life of a credential.
pub(crate) const CREDENTIAL_LIFE_USED: f64 = 0.8;
/// A token that has ended already must not open one session after the other.
pub(crate) const SHORTEST_TOKEN_LIFE: Duration = Duration::from_millis(1000);
/// The longest wait for the end of the stream after a half-close.
pub(crate) const HALF_CLOSE: Duration = Duration::from_millis(1000);
pub(crate) const MAX_COMMANDS_IN_MESSAGE: usize = 1000;
pub(crate) const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// The commands in a message have at most this share of its size. The rest is for `start`.
pub(crate) const COMMANDS_SHARE_OF_MESSAGE: f64 = 0.9;
/// The longest text of a command, and the longest texts of its metadata together. The server allows
/// far less, and says so. A message beyond the server's bound would end the session of all leases.
pub(crate) const MAX_TEXT_BYTES: usize = 100_000;
/// Attaches without an answer. The bound keeps thousands of attaches from one server's queue at once.
pub(crate) const MAX_ATTACHES_UNANSWERED: usize = 1000;
/// Acquires that have not ended. The server refuses more.
pub(crate) const MAX_ACQUIRES_UNANSWERED: usize = 10_000;
/// The longest ttl that a server allows by default.
pub(crate) const LONGEST_TTL: Duration = Duration::from_millis(120_000);
/// A client with more heartbeats without an answer has left its session long before.
pub(crate) const MAX_HEARTBEATS_REMEMBERED: usize = 1000;
/// The ids of leases that are over. A lease of an earlier time has no command under way.
pub(crate) const MAX_ENDED_LEASES_REMEMBERED: usize = 100_000;

/// The first random pause is at most twice this time. Each next limit is twice as long.
pub(crate) const FIRST_BACKOFF: Duration = Duration::from_millis(50);
pub(crate) const LONGEST_BACKOFF: Duration = Duration::from_millis(5000);
/// There is no loop without a pause, even if a deadline is near.
pub(crate) const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
/// A pause before an attach has at most this share of the time to the deadline of the lease.
pub(crate) const ATTACH_SHARE: f64 = 0.5;

/// The first attempt of a call has this share of the time, so that a second server is tried. A
/// dictionary may load for 5 s.
pub(crate) const ATTEMPT_SHARE: f64 = 0.6;
/// Calls leave a server that answers no call for this time.
pub(crate) const SILENCE: Duration = Duration::from_millis(1000);
/// A connection that carries calls is pinged after so long without data, so that a watch finds a dead
/// connection. Servers may refuse pings that come far more often.
pub(crate) const KEEPALIVE: Duration = Duration::from_millis(30_000);
/// A connection without an answer to a ping is broken.
pub(crate) const KEEPALIVE_TIMEOUT: Duration = Duration::from_millis(10_000);

/// The longest wait for the first session.
pub(crate) const CONNECT: Duration = Duration::from_millis(10_000);
/// The longest time of one call of the token callback.
pub(crate) const TOKEN: Duration = Duration::from_millis(10_000);
/// The longest time of a call, retries included.
pub(crate) const CALL: Duration = Duration::from_millis(10_000);
/// The longest time of a put, which may wait for replicas of the store and for the loading of the
/// entries.
pub(crate) const PUT: Duration = Duration::from_millis(120_000);
/// After the wait for a lease, the server has this time for its answer.
pub(crate) const ANSWER_AFTER_WAIT: Duration = Duration::from_millis(5000);
/// The longest wait of a caller for the answer to a release.
pub(crate) const RELEASE: Duration = Duration::from_millis(5000);
/// A release is repeated for this number of ttls. Then the lease has surely ended.
pub(crate) const RELEASE_IS_REPEATED_FOR_TTLS: u32 = 2;
pub(crate) const CLOSE: Duration = Duration::from_millis(5000);

pub(crate) const MAX_ENTRIES_IN_MESSAGE: usize = 1000;
/// The server takes 4 MiB. The rest is for the other fields.
pub(crate) const MAX_ENTRY_BYTES_IN_MESSAGE: usize = 3 << 20;
/// Of a list that the server gives page by page.
pub(crate) const PAGE_SIZE: i32 = 500;

/// The pause after a keystroke before the query is sent.
pub(crate) const DEBOUNCE: Duration = Duration::from_millis(30);

/// A command of a session is repeated with the same id.
pub(crate) const COMMAND_IS_REPEATED: &[&str] = &[
    "DRAINING",
    "OUTCOME_UNKNOWN",
    "OVERLOADED",
    "QUARANTINED",
    "REATTACH",
    "STORE_UNAVAILABLE",
];
/// A call is repeated, because the server has not carried it out.
pub(crate) const CALL_IS_REPEATED: &[&str] = &[
    "DICTIONARY_LOADING",
    "DRAINING",
    "OVERLOADED",
    "QUARANTINED",
    "STORE_UNAVAILABLE",
];
/// A call is repeated only if a second run does no harm.
pub(crate) const IDEMPOTENT_CALL_IS_REPEATED: &[&str] = &["OUTCOME_UNKNOWN"];
pub(crate) const CREDENTIAL_IS_FETCHED_ONCE_MORE: &[&str] = &["BAD_CREDENTIAL", "NO_CREDENTIAL"];
/// Before the first session has started, no next session can help.
pub(crate) const CONNECT_FAILS: &[&str] = &["INVALID_FIELD", "NOT_ALLOWED"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn ms(time: Duration) -> u128 {
        time.as_millis()
    }

    #[test]
    fn the_numbers_are_those_of_all_clients() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../numbers.json");
        let shared: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let own = json!({
            "session": {
                "heartbeat_interval_ms": ms(HEARTBEAT_INTERVAL),
                "heartbeat_timeout_ms": ms(HEARTBEAT_TIMEOUT),
                "heartbeats_per_ttl": HEARTBEATS_PER_TTL,
                "silence_is_ttl_divided_by": SILENCE_IS_TTL_DIVIDED_BY,
                "first_answer_ms": ms(FIRST_ANSWER),
                "shortest_first_answer_ms": ms(SHORTEST_FIRST_ANSWER),
                "longest_pause_after_break_ms": ms(LONGEST_PAUSE_AFTER_BREAK),
                "pause_after_break_is_deadline_divided_by": PAUSE_AFTER_BREAK_IS_DEADLINE_DIVIDED_BY,
                "credential_life_used": CREDENTIAL_LIFE_USED,
                "shortest_token_life_ms": ms(SHORTEST_TOKEN_LIFE),
                "half_close_ms": ms(HALF_CLOSE),
                "max_commands_in_message": MAX_COMMANDS_IN_MESSAGE,
                "max_message_bytes": MAX_MESSAGE_BYTES,
                "commands_share_of_message": COMMANDS_SHARE_OF_MESSAGE,
                "max_text_length": MAX_TEXT_BYTES,
                "max_attaches_unanswered": MAX_ATTACHES_UNANSWERED,
                "max_acquires_unanswered": MAX_ACQUIRES_UNANSWERED,
                "longest_ttl_ms": ms(LONGEST_TTL),
                "max_heartbeats_remembered": MAX_HEARTBEATS_REMEMBERED,
                "max_ended_leases_remembered": MAX_ENDED_LEASES_REMEMBERED,
            },
            "retry": {
                "first_backoff_ms": ms(FIRST_BACKOFF),
                "longest_backoff_ms": ms(LONGEST_BACKOFF),
                "shortest_pause_ms": ms(SHORTEST_PAUSE),
                "attach_share": ATTACH_SHARE,
            },
            "calls": {
                "attempt_share": ATTEMPT_SHARE,
                "silence_ms": ms(SILENCE),
                "keepalive_ms": ms(KEEPALIVE),
                "keepalive_timeout_ms": ms(KEEPALIVE_TIMEOUT),
            },
            "limits": {
                "connect_ms": ms(CONNECT),
                "token_ms": ms(TOKEN),
                "call_ms": ms(CALL),
                "put_ms": ms(PUT),
                "answer_after_wait_ms": ms(ANSWER_AFTER_WAIT),
                "release_ms": ms(RELEASE),
                "release_is_repeated_for_ttls": RELEASE_IS_REPEATED_FOR_TTLS,
                "close_ms": ms(CLOSE),
            },
            "entries": {
                "max_entries_in_message": MAX_ENTRIES_IN_MESSAGE,
                "max_entry_bytes_in_message": MAX_ENTRY_BYTES_IN_MESSAGE,
                "page_size": PAGE_SIZE,
            },
            "type_ahead": { "debounce_ms": ms(DEBOUNCE) },
            "reasons": {
                "command_is_repeated": COMMAND_IS_REPEATED,
                "call_is_repeated": CALL_IS_REPEATED,
                "idempotent_call_is_repeated": IDEMPOTENT_CALL_IS_REPEATED,
                "credential_is_fetched_once_more": CREDENTIAL_IS_FETCHED_ONCE_MORE,
                "connect_fails": CONNECT_FAILS,
            },
        });
        assert_eq!(own, shared);
    }
}
