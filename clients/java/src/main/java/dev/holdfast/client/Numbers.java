package dev.holdfast.client;

import java.util.Set;

/**
 * The times, bounds and reasons that all clients of Holdfast share. A test compares them with
 * clients/numbers.json. Times are milliseconds.
 */
final class Numbers {
  private Numbers() {}

  /** The numbers of a session. */
  static final class Session {
    private Session() {}

    /** The time between two heartbeats, until a response changes it. */
    static final long HEARTBEAT_INTERVAL_MS = 5000;

    /** The longest silence of the server, until its first response changes it. */
    static final long HEARTBEAT_TIMEOUT_MS = 15_000;

    /** A short ttl needs earlier heartbeats. */
    static final long HEARTBEATS_PER_TTL = 6;

    /**
     * A client leaves a silent server after this part of the shortest ttl. The rest is for the
     * attach.
     */
    static final long SILENCE_IS_TTL_DIVIDED_BY = 4;

    /** The longest wait for the first response, because a new connection may lead nowhere. */
    static final long FIRST_ANSWER_MS = 5000;

    /**
     * Before the first session, the addresses share the time of connect. Each has at least this
     * time.
     */
    static final long SHORTEST_FIRST_ANSWER_MS = 1000;

    /** The longest random pause before the session after a break. */
    static final long LONGEST_PAUSE_AFTER_BREAK_MS = 1000;

    /** The pause is at most this part of the time to the nearest deadline. */
    static final long PAUSE_AFTER_BREAK_IS_DEADLINE_DIVIDED_BY = 10;

    /** The next session is opened after this share of the life of a credential. */
    static final double CREDENTIAL_LIFE_USED = 0.8;

    /** A token that has ended already must not open one session after the other. */
    static final long SHORTEST_TOKEN_LIFE_MS = 1000;

    /** The longest wait for the end of the stream after a half-close. */
    static final long HALF_CLOSE_MS = 1000;

    static final int MAX_COMMANDS_IN_MESSAGE = 1000;
    static final int MAX_MESSAGE_BYTES = 1 << 20;

    /** The commands in a message have at most this share of its size. The rest is for the start. */
    static final double COMMANDS_SHARE_OF_MESSAGE = 0.9;

    /** The longest text of a command, and the longest texts of its metadata together. */
    static final int MAX_TEXT_LENGTH = 100_000;

    /**
     * Attaches without an answer. The bound keeps thousands of them from one server's queue at
     * once.
     */
    static final int MAX_ATTACHES_UNANSWERED = 1000;

    /** Acquires that have not ended. The server refuses more. */
    static final int MAX_ACQUIRES_UNANSWERED = 10_000;

    /** The longest ttl that a server allows by default. */
    static final long LONGEST_TTL_MS = 120_000;

    /** A client with more heartbeats without an answer has left its session long before. */
    static final int MAX_HEARTBEATS_REMEMBERED = 1000;

    /** The ids of leases that are over. A lease of an earlier time has no command under way. */
    static final int MAX_ENDED_LEASES_REMEMBERED = 100_000;
  }

  /** The pauses before a repetition. */
  static final class Retry {
    private Retry() {}

    /** The first random pause is at most twice this time. Each next limit is twice as long. */
    static final long FIRST_BACKOFF_MS = 50;

    static final long LONGEST_BACKOFF_MS = 5000;

    /** There is no loop without a pause, even if a deadline is near. */
    static final long SHORTEST_PAUSE_MS = 5;

    /**
     * The pause before the next session or attach is at most this share of the time to the deadline
     * of a lease. The rest is left for other attempts.
     */
    static final double ATTACH_SHARE = 0.5;
  }

  /** The numbers of calls outside of the session. */
  static final class Calls {
    private Calls() {}

    /**
     * The first attempt has this share of the time, so that a second server is tried. A dictionary
     * may load for 5 s.
     */
    static final double ATTEMPT_SHARE = 0.6;

    /** Calls leave a server that answers no call for this time. */
    static final long SILENCE_MS = 1000;

    /** A connection that carries calls is pinged after so long without data. */
    static final long KEEPALIVE_MS = 30_000;

    /** A connection without an answer to a ping is broken. */
    static final long KEEPALIVE_TIMEOUT_MS = 10_000;
  }

  /** The limits of waits. */
  static final class Limits {
    private Limits() {}

    /** The longest wait for the first session. */
    static final long CONNECT_MS = 10_000;

    /** The longest time of one call of the token callback. */
    static final long TOKEN_MS = 10_000;

    /** The longest time of a call, retries included. */
    static final long CALL_MS = 10_000;

    /**
     * The longest time of a put, which may wait for replicas of the store, and for the loading of
     * the entries.
     */
    static final long PUT_MS = 120_000;

    /** After the wait for a lease, the server has this time for its answer. */
    static final long ANSWER_AFTER_WAIT_MS = 5000;

    /** The longest wait of a caller for the answer to a release. */
    static final long RELEASE_MS = 5000;

    /** A release is repeated for this number of ttls. Then the lease has surely ended. */
    static final long RELEASE_IS_REPEATED_FOR_TTLS = 2;

    static final long CLOSE_MS = 5000;
  }

  /** The numbers of messages with entries. */
  static final class Entries {
    private Entries() {}

    static final int MAX_ENTRIES_IN_MESSAGE = 1000;

    /** The server takes 4 MiB. The rest is for the other fields. */
    static final int MAX_ENTRY_BYTES_IN_MESSAGE = 3 << 20;

    /** Of a list that the server gives page by page. */
    static final int PAGE_SIZE = 500;
  }

  /** The numbers of type-ahead. */
  static final class TypeAhead {
    private TypeAhead() {}

    static final long DEBOUNCE_MS = 30;
  }

  /** The reasons after which the client acts by itself. */
  static final class Reasons {
    private Reasons() {}

    /** A command of a session is repeated with the same id. */
    static final Set<String> COMMAND_IS_REPEATED =
        Set.of(
            "DRAINING",
            "OUTCOME_UNKNOWN",
            "OVERLOADED",
            "QUARANTINED",
            "REATTACH",
            "STORE_UNAVAILABLE");

    /** A call is repeated, because the server has not carried it out. */
    static final Set<String> CALL_IS_REPEATED =
        Set.of("DICTIONARY_LOADING", "DRAINING", "OVERLOADED", "QUARANTINED", "STORE_UNAVAILABLE");

    /** A call is repeated only if a second run does no harm. */
    static final Set<String> IDEMPOTENT_CALL_IS_REPEATED = Set.of("OUTCOME_UNKNOWN");

    static final Set<String> CREDENTIAL_IS_FETCHED_ONCE_MORE =
        Set.of("BAD_CREDENTIAL", "NO_CREDENTIAL");

    /** Before the first session has started, no next session can help. */
    static final Set<String> CONNECT_FAILS = Set.of("INVALID_FIELD", "NOT_ALLOWED");
  }
}
