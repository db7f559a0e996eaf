package holdfast

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

func TestTheNumbersAreThoseOfAllClients(t *testing.T) {
	text, err := os.ReadFile("../numbers.json")
	if err != nil {
		t.Fatal(err)
	}
	var groups map[string]map[string]any
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatal(err)
	}
	own := map[string]map[string]any{
		"session": {
			"heartbeat_interval_ms":                    ms(heartbeatInterval),
			"heartbeat_timeout_ms":                     ms(heartbeatTimeout),
			"heartbeats_per_ttl":                       float64(heartbeatsPerTTL),
			"silence_is_ttl_divided_by":                float64(silenceIsTTLDividedBy),
			"first_answer_ms":                          ms(firstAnswerTimeout),
			"shortest_first_answer_ms":                 ms(shortestFirstAnswer),
			"longest_pause_after_break_ms":             ms(longestPauseAfterBreak),
			"pause_after_break_is_deadline_divided_by": float64(pauseAfterBreakIsDeadlineDividedBy),
			"credential_life_used":                     credentialLifeUsed,
			"shortest_token_life_ms":                   ms(shortestTokenLife),
			"half_close_ms":                            ms(halfCloseTimeout),
			"max_commands_in_message":                  float64(maxCommandsInMessage),
			"max_message_bytes":                        float64(maxMessageBytes),
			"commands_share_of_message":                commandsShare,
			"max_text_length":                          float64(maxTextBytes),
			"max_attaches_unanswered":                  float64(maxAttachesUnanswered),
			"max_acquires_unanswered":                  float64(maxAcquiresUnanswered),
			"longest_ttl_ms":                           ms(longestTTL),
			"max_heartbeats_remembered":                float64(maxHeartbeats),
			"max_ended_leases_remembered":              float64(maxOver),
		},
		"retry": {
			"first_backoff_ms":   ms(firstBackoff),
			"longest_backoff_ms": ms(longestBackoff),
			"shortest_pause_ms":  ms(shortestPause),
			"attach_share":       attachShare,
		},
		"calls": {
			"attempt_share":        attemptShare,
			"silence_ms":           ms(callSilence),
			"keepalive_ms":         ms(callKeepalive),
			"keepalive_timeout_ms": ms(callKeepaliveTimeout),
		},
		"limits": {
			"connect_ms":                   ms(connectTimeout),
			"token_ms":                     ms(tokenTimeout),
			"call_ms":                      ms(callTimeout),
			"put_ms":                       ms(putTimeout),
			"answer_after_wait_ms":         ms(answerAfterWait),
			"release_ms":                   ms(releaseTimeout),
			"release_is_repeated_for_ttls": float64(releaseIsRepeatedForTTLs),
			"close_ms":                     ms(closeTimeout),
		},
		"entries": {
			"max_entries_in_message":     float64(maxEntriesInMessage),
			"max_entry_bytes_in_message": float64(maxEntryBytesInMessage),
			"page_size":                  float64(listPageSize),
		},
		"type_ahead": {"debounce_ms": ms(typeAheadDebounce)},
		"reasons": {
			"command_is_repeated":             commandIsRepeated,
			"call_is_repeated":                callIsRepeated,
			"idempotent_call_is_repeated":     idempotentCallIsRepeated,
			"credential_is_fetched_once_more": credentialIsFetchedOnceMore,
			"connect_fails":                   connectFails,
		},
	}
	for group, values := range groups {
		for name, want := range values {
			if got := own[group][name]; !isEqual(got, want) {
				t.Errorf("%s.%s is %v in this client, and %v in numbers.json", group, name, got, want)
			}
			delete(own[group], name)
		}
		if len(own[group]) > 0 {
			t.Errorf("numbers.json lacks %v of %s", own[group], group)
		}
	}
}

func ms(d time.Duration) float64 {
	return float64(d.Milliseconds())
}

func isEqual(own, want any) bool {
	reasons, ok := own.([]string)
	if !ok {
		return own == want
	}
	list, ok := want.([]any)
	return ok && slices.EqualFunc(reasons, list, func(a string, b any) bool { return any(a) == b })
}
