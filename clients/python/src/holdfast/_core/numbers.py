"""The times (seconds), bounds and reasons that all clients of Holdfast share.

A test compares them with clients/numbers.json, with which the clients in the other languages are
compared too.
"""

# The session.

#: The time between two heartbeats, until a response changes it.
HEARTBEAT_INTERVAL = 5.0
#: The longest silence of the server, until its first response changes it.
HEARTBEAT_TIMEOUT = 15.0
#: A short ttl needs earlier heartbeats.
HEARTBEATS_PER_TTL = 6
#: A client leaves a silent server after this part of the shortest ttl. The rest is for the attach.
SILENCE_IS_TTL_DIVIDED_BY = 4
#: The longest wait for the first response, because a new connection may lead nowhere.
FIRST_ANSWER = 5.0
#: Before the first session, the addresses share the time of connect. Each has at least this time.
SHORTEST_FIRST_ANSWER = 1.0
#: The longest random pause before the session after a break.
LONGEST_PAUSE_AFTER_BREAK = 1.0
#: The pause is at most this part of the time to the nearest deadline.
PAUSE_AFTER_BREAK_IS_DEADLINE_DIVIDED_BY = 10
#: The next session is opened after this share of the life of a credential.
CREDENTIAL_LIFE_USED = 0.8
#: A token that has ended already must not open one session after the other.
SHORTEST_TOKEN_LIFE = 1.0
#: The longest wait for the end of the stream after a half-close.
HALF_CLOSE = 1.0
MAX_COMMANDS_IN_MESSAGE = 1000
MAX_MESSAGE_BYTES = 2**20
#: The commands in a message have at most this share of its size. The rest is for `start`.
COMMANDS_SHARE_OF_MESSAGE = 0.9
#: The longest text of a command, and the longest texts of its metadata together.
MAX_TEXT_LENGTH = 100_000
#: Attaches without an answer. The bound keeps thousands of attaches from one server's queue.
MAX_ATTACHES_UNANSWERED = 1000
#: Acquires that have not ended. The server refuses more.
MAX_ACQUIRES_UNANSWERED = 10_000
#: The longest ttl that a server allows by default.
LONGEST_TTL = 120.0
#: A client with more heartbeats without an answer has left its session long before.
MAX_HEARTBEATS_REMEMBERED = 1000
#: The ids of leases that are over. A lease of an earlier time has no command under way.
MAX_ENDED_LEASES_REMEMBERED = 100_000

# Retries.

#: The first random pause is at most twice this time. Each next limit is twice as long.
FIRST_BACKOFF = 0.05
LONGEST_BACKOFF = 5.0
#: There is no loop without a pause, even if a deadline is near.
SHORTEST_PAUSE = 0.005
#: The pause before an attach, or before its session, is at most this share of the time to the
#: deadline.
ATTACH_SHARE = 0.5

# Calls outside of the session.

#: The first attempt has this share of the time, so that a second server is tried. A dictionary
#: may load for 5 s.
ATTEMPT_SHARE = 0.6
#: Calls leave a server that answers no call for this time.
SILENCE = 1.0
#: A connection that carries calls is pinged after so long without data, so that a watch finds a
#: dead connection. Servers may refuse pings that come far more often.
KEEPALIVE = 30.0
#: A connection without an answer to a ping is broken.
KEEPALIVE_TIMEOUT = 10.0

# Limits.

#: The longest wait for the first session.
CONNECT = 10.0
#: The longest time of one call of the token callback.
TOKEN = 10.0
#: The longest time of a call, retries included.
CALL = 10.0
#: The longest time of a put, which may wait for replicas of the store and for the loading of the
#: entries.
PUT = 120.0
#: After the wait for a lease, the server has this time for its answer.
ANSWER_AFTER_WAIT = 5.0
#: The longest wait of a caller for the answer to a release.
RELEASE = 5.0
#: A release is repeated for this number of ttls. Then the lease has surely ended.
RELEASE_IS_REPEATED_FOR_TTLS = 2
CLOSE = 5.0

# Entries.

MAX_ENTRIES_IN_MESSAGE = 1000
#: The server takes 4 MiB. The rest is for the other fields.
MAX_ENTRY_BYTES_IN_MESSAGE = 3 * 2**20
#: Of a list that the server gives page by page.
PAGE_SIZE = 500

# Type-ahead.

DEBOUNCE = 0.03

# Reasons.

#: A command of a session is repeated with the same id.
COMMAND_IS_REPEATED = frozenset(
    [
        "DRAINING",
        "OUTCOME_UNKNOWN",
        "OVERLOADED",
        "QUARANTINED",
        "REATTACH",
        "STORE_UNAVAILABLE",
    ]
)
#: A call is repeated, because the server has not carried it out.
CALL_IS_REPEATED = frozenset(
    ["DICTIONARY_LOADING", "DRAINING", "OVERLOADED", "QUARANTINED", "STORE_UNAVAILABLE"]
)
#: A call is repeated only if a second run does no harm.
IDEMPOTENT_CALL_IS_REPEATED = frozenset(["OUTCOME_UNKNOWN"])
CREDENTIAL_IS_FETCHED_ONCE_MORE = frozenset(["BAD_CREDENTIAL", "NO_CREDENTIAL"])
#: Before the first session has started, no next session can help.
CONNECT_FAILS = frozenset(["INVALID_FIELD", "NOT_ALLOWED"])
