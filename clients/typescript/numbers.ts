/** setTimeout takes a longer time for 1 ms. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The times, bounds and reasons that all clients of Holdfast share. A test compares them with clients/numbers.json,
 * which the clients in the other languages are compared with too.
 */
export const NUMBERS = {
  session: {
    /** The time between two heartbeats, until a response changes it. */
    heartbeatIntervalMs: 5000,
    /** The longest silence of the server, until its first response changes it. */
    heartbeatTimeoutMs: 15_000,
    /** A short ttl needs earlier heartbeats. */
    heartbeatsPerTtl: 6,
    /** A client leaves a silent server after this part of the shortest ttl. The rest is left for the attach. */
    silenceIsTtlDividedBy: 4,
    /** The longest wait for the first response, because a new connection may lead nowhere. */
    firstAnswerMs: 5000,
    /** Before the first session, the addresses share the time of connect. Each has at least this time. */
    shortestFirstAnswerMs: 1000,
    /** The longest random pause before the session after a break. */
    longestPauseAfterBreakMs: 1000,
    /** The pause is at most this part of the time to the nearest deadline. */
    pauseAfterBreakIsDeadlineDividedBy: 10,
    /** The next session is opened after this share of the life of a credential. */
    credentialLifeUsed: 0.8,
    /** A token that has ended already must not open one session after the other. */
    shortestTokenLifeMs: 1000,
    /** The longest wait for the end of the stream after a half-close. */
    halfCloseMs: 1000,
    maxCommandsInMessage: 1000,
    maxMessageBytes: 2 ** 20,
    /** The commands in a message have at most this share of its size. The rest is for `start`. */
    commandsShareOfMessage: 0.9,
    /** The longest text of a command, and the longest texts of its metadata together. */
    maxTextLength: 100_000,
    /** Attaches without an answer. The bound keeps thousands of attaches from one server's queue at once. */
    maxAttachesUnanswered: 1000,
    /** Acquires that have not ended. The server refuses more. */
    maxAcquiresUnanswered: 10_000,
    /** The longest ttl that a server allows by default. */
    longestTtlMs: 120_000,
    /** A client with more heartbeats without an answer has left its session long before. */
    maxHeartbeatsRemembered: 1000,
    /** The ids of leases that are over. A lease of an earlier time has no command under way. */
    maxEndedLeasesRemembered: 100_000,
  },
  retry: {
    /** The first random pause is at most twice this time. Each next limit is twice as long. */
    firstBackoffMs: 50,
    longestBackoffMs: 5000,
    /** There is no loop without a pause, even if a deadline is near. */
    shortestPauseMs: 5,
    /** The pause before an attach, or before its session, is at most this share of the time to the deadline. */
    attachShare: 0.5,
  },
  calls: {
    /** The first attempt has this share of the time, so that a second server is tried. A dictionary may load for 5 s. */
    attemptShare: 0.6,
    /** Calls leave a server that answers no call for this time. */
    silenceMs: 1000,
    /** A connection that carries calls is pinged after so long without data. Servers may refuse pings far more often. */
    keepaliveMs: 30_000,
    /** A connection without an answer to a ping is broken. */
    keepaliveTimeoutMs: 10_000,
  },
  limits: {
    /** The longest wait for the first session. */
    connectMs: 10_000,
    /** The longest time of one call of the token callback. */
    tokenMs: 10_000,
    /** The longest time of a call, retries included. */
    callMs: 10_000,
    /** The longest time of a put, which may wait for replicas of the store and for the loading of the entries. */
    putMs: 120_000,
    /** After the wait for a lease, the server has this time for its answer. */
    answerAfterWaitMs: 5000,
    /** The longest wait of a caller for the answer to a release. The release is repeated until the deadline. */
    releaseMs: 5000,
    /** A release is repeated for this number of ttls. Then the lease has surely ended. */
    releaseIsRepeatedForTtls: 2,
    closeMs: 5000,
  },
  entries: {
    maxEntriesInMessage: 1000,
    /** The server takes 4 MiB. The rest is for the other fields. */
    maxEntryBytesInMessage: 3 * 2 ** 20,
    /** Of a list that the server gives page by page. */
    pageSize: 500,
  },
  typeAhead: {
    debounceMs: 30,
  },
  reasons: {
    /** A command of a session is repeated with the same id. */
    commandIsRepeated: [
      'DRAINING',
      'OUTCOME_UNKNOWN',
      'OVERLOADED',
      'QUARANTINED',
      'REATTACH',
      'STORE_UNAVAILABLE',
    ],
    /** A call is repeated, because the server has not carried it out. */
    callIsRepeated: ['DICTIONARY_LOADING', 'DRAINING', 'OVERLOADED', 'QUARANTINED', 'STORE_UNAVAILABLE'],
    /** A call is repeated only if a second run does no harm. */
    idempotentCallIsRepeated: ['OUTCOME_UNKNOWN'],
    credentialIsFetchedOnceMore: ['BAD_CREDENTIAL', 'NO_CREDENTIAL'],
    /** Before the first session has started, no next session can help. */
    connectFails: ['INVALID_FIELD', 'NOT_ALLOWED'],
  },
};
