package holdfast

import "time"

// The times, bounds and reasons that all clients of Holdfast share. A test
// compares them with clients/numbers.json.
const (
	// The time between two heartbeats, until a response changes it.
	heartbeatInterval = 5 * time.Second
	// The longest silence of the server, until its first response changes it.
	heartbeatTimeout = 15 * time.Second
	// A short ttl needs earlier heartbeats.
	heartbeatsPerTTL = 6
	// A client leaves a silent server after this part of the shortest ttl. The
	// rest is left for the attach.
	silenceIsTTLDividedBy = 4
	// The longest wait for the first response, because a new connection may lead
	// nowhere.
	firstAnswerTimeout = 5 * time.Second
	// Before the first session, the addresses share the time of connect. Each has at
	// least this time.
	shortestFirstAnswer = time.Second
	// The longest random pause before the session after a break.
	longestPauseAfterBreak = time.Second
	// The pause is at most this part of the time to the nearest deadline.
	pauseAfterBreakIsDeadlineDividedBy = 10
	// The next session is opened after this share of the life of a credential.
	credentialLifeUsed = 0.8
	// A token that has ended already must not open one session after the other.
	shortestTokenLife = time.Second
	// The longest wait for the end of the stream after a half-close.
	halfCloseTimeout     = time.Second
	maxCommandsInMessage = 1000
	maxMessageBytes      = 1 << 20
	// The commands in a message have at most this share of its size. The rest is
	// for the start of the session.
	commandsShare = 0.9
	// maxTextBytes bounds the texts of one command, and those of the start of a session. The
	// server allows far less, and says so. A message beyond the server's bound would end the
	// session of all leases.
	maxTextBytes = 100_000
	// Attaches without an answer. The bound keeps thousands of attaches from one
	// server's queue at once.
	maxAttachesUnanswered = 1000
	// Acquires that have not ended. The server refuses more.
	maxAcquiresUnanswered = 10_000
	// The longest ttl that a server allows by default.
	longestTTL = 2 * time.Minute
	// A client with more heartbeats without an answer has left its session long
	// before.
	maxHeartbeats = 1000
	// The ids of leases that are over. A lease of an earlier time has no command
	// under way.
	maxOver = 100_000

	// The first random pause is at most twice this time. Each next limit is twice
	// as long.
	firstBackoff   = 50 * time.Millisecond
	longestBackoff = 5 * time.Second
	// There is no loop without a pause, even if a deadline is near.
	shortestPause = 5 * time.Millisecond
	// The pause before the next session or attach is at most this share of the time to
	// the deadline of a lease. The rest is left for other attempts.
	attachShare = 0.5

	// The first attempt has this share of the time, so that a second server is tried.
	// A dictionary may load for 5 s.
	attemptShare = 0.6
	// Calls leave a server that answers no call for this time.
	callSilence = time.Second
	// A connection that carries calls is pinged after so long without data, so that a
	// watch finds a dead connection.
	callKeepalive        = 30 * time.Second
	callKeepaliveTimeout = 10 * time.Second

	// The longest wait for the first session.
	connectTimeout = 10 * time.Second
	// The longest time of one call of the token callback.
	tokenTimeout = 10 * time.Second
	// The longest time of a call, retries included.
	callTimeout = 10 * time.Second
	// The longest time of a put, which may wait for replicas of the store, and for
	// the loading of the entries.
	putTimeout = 2 * time.Minute
	// After the wait for a lease, the server has this time for its answer.
	answerAfterWait = 5 * time.Second
	// The longest wait of a caller for the answer to a release.
	releaseTimeout = 5 * time.Second
	// A release is repeated for this number of ttls. Then the lease has surely ended.
	releaseIsRepeatedForTTLs = 2
	closeTimeout             = 5 * time.Second

	maxEntriesInMessage = 1000
	// The server takes 4 MiB. The rest is for the other fields.
	maxEntryBytesInMessage = 3 << 20
	// Of a list that the server gives page by page.
	listPageSize = 500

	typeAheadDebounce = 30 * time.Millisecond
)

var (
	// A command of a session is repeated with the same id.
	commandIsRepeated = []string{
		"DRAINING", "OUTCOME_UNKNOWN", "OVERLOADED", "QUARANTINED", "REATTACH", "STORE_UNAVAILABLE",
	}
	// A call is repeated, because the server has not carried it out.
	callIsRepeated = []string{
		"DICTIONARY_LOADING", "DRAINING", "OVERLOADED", "QUARANTINED", "STORE_UNAVAILABLE",
	}
	// A call is repeated only if a second run does no harm.
	idempotentCallIsRepeated = []string{"OUTCOME_UNKNOWN"}
	// A credential is fetched once more.
	credentialIsFetchedOnceMore = []string{"BAD_CREDENTIAL", "NO_CREDENTIAL"}
	// Before the first session has started, no next session can help.
	connectFails = []string{"INVALID_FIELD", "NOT_ALLOWED"}
)
