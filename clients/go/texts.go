package holdfast

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// checkTexts returns the error of texts that no message can have. Such a text would
// break every session that sends it, and so end the renewals of all leases.
func checkTexts(field string, texts ...string) *Error {
	size := 0
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return invalidOption(field, fmt.Sprintf("must be UTF-8, not %.40q", text))
		}
		size += len(text)
	}
	if size > maxTextBytes {
		return invalidOption(field, fmt.Sprintf("is %d bytes; a message has at most %d", size, maxTextBytes))
	}
	return nil
}

func checkMetadata(metadata map[string]string) *Error {
	texts := make([]string, 0, 2*len(metadata))
	for key, value := range metadata {
		texts = append(texts, key, value)
	}
	return checkTexts("metadata", texts...)
}

// checkCount returns the error of a number that no message can have. It would arrive as
// another number.
func checkCount(field string, n *int) *Error {
	if n != nil && (*n < math.MinInt32 || *n > math.MaxInt32) {
		return invalidOption(field, fmt.Sprintf("must be at most %d, not %d", math.MaxInt32, *n))
	}
	return nil
}

// nearestInt32 returns the nearest number that a message can have. The server refuses
// a number beyond its bound.
func nearestInt32(n int) int32 {
	return int32(max(math.MinInt32, min(n, math.MaxInt32)))
}

// optionNames are the names of this package for the fields and the advice in the texts of
// a server, the longer ones first.
var optionNames = []struct{ field, own string }{
	{"repeat the call with the same request_id", "call again"},
	{"use a new request_id", "call again"},
	{"open a second session with another client_id", "use a second Client"},
	{"update.metadata_update.entries", "metadata"},
	{"wait_timeout", "WithWait"},
	{"permit_count", "WithPermits"},
	{"initial_limit", "WithLimit"},
	{"expected_limit", "WithLimit"},
	{"exact_limit", "WithExactLimit"},
	{"holder_id", "WithHolderID"},
	{"max_hold", "WithMaxHold"},
	{"page_size", "WithMaxSuggestions"},
	{"match_kinds", "WithMatchKinds"},
	{"recents_list", "WithRecents"},
	{"max_staleness", "WithMaxStaleness"},
	{"entry_ids", "the ids"},
	{"entry_id", "EntryID"},
	{"typo_matching", "NoTypos"},
}

// otherNames are words of texts too, so only a whole field has them.
var otherNames = map[string]string{
	"ttl": "WithTTL", "wait": "WithWait", "permits": "WithPermits", "limit": "WithLimit",
}

// fieldsInText also finds names in quotes, which stay, the commands before a field, and the
// ids that this package itself repeats or renews.
var fieldsInText = func() *regexp.Regexp {
	const idsInText = ` with (?:a new request_id|the same lease_id|request_id [0-9A-Za-z-]+)\b`
	parts := []string{`"(?:[^"\\]|\\.)*"`, `\b(?:acquire_lock|acquire_permits|start|suggest)\.[a-z_]+\b`, idsInText}
	for _, one := range optionNames {
		parts = append(parts, `\b`+one.field+`\b`)
	}
	return regexp.MustCompile(strings.Join(parts, "|"))
}()

// ownNames returns the text of a server with the names of the options of this package.
func ownNames(text string) string {
	return fieldsInText.ReplaceAllStringFunc(text, func(part string) string {
		_, field, isOfCommand := strings.Cut(part, ".")
		own := optionName(part)
		switch {
		case strings.HasPrefix(part, `"`):
			return part
		case strings.HasPrefix(part, " with "):
			return ""
		case own == part && isOfCommand:
			return optionName(field)
		default:
			return own
		}
	})
}

// optionName returns the name of the option that sets the field.
func optionName(field string) string {
	for _, one := range optionNames {
		if one.field == field {
			return one.own
		}
	}
	if own, ok := otherNames[field]; ok {
		return own
	}
	return field
}
